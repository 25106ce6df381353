"""What a release says of itself: one version, addresses that lead somewhere, and a readable recipe."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from types import ModuleType
from typing import Any

import jinja2
import pytest
from tests.docs.pages import ROOT

from tracearena import __version__

yaml = pytest.importorskip("yaml")

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
ADDRESS = "https://example.org/tracearena"
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def test_the_version_is_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    newest = re.search(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest is not None
    assert [citation["version"], newest[1], __version__] == 3 * [PROJECT["version"]]


@pytest.fixture
def adapt_readme(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the function that builds use; hatchling, which calls it, need not be installed."""
    interface = ModuleType("hatchling.metadata.plugin.interface")
    vars(interface)["MetadataHookInterface"] = object
    for name in ("hatchling", "hatchling.metadata", "hatchling.metadata.plugin"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    return hook.adapt_readme


def test_links_of_the_readme_lead_to_files_of_the_release(adapt_readme: Any) -> None:
    adapted = adapt_readme((ROOT / "README.md").read_text("utf-8"), ADDRESS, __version__)
    own = [target for target in LINK.findall(adapted) if target.startswith(ADDRESS)]
    assert len(own) > 10
    for target in own:
        kind, version, path = target.removeprefix(f"{ADDRESS}/").split("/", 2)
        assert (kind == "raw") == path.endswith(".webp"), target
        assert version == f"v{__version__}"
        assert (ROOT / path.partition("#")[0]).is_file(), target
    assert all(target.startswith("https://") for target in LINK.findall(adapted))
    assert "<!--" not in adapted


def test_without_an_address_the_readme_has_words_instead_of_links(adapt_readme: Any) -> None:
    adapted = adapt_readme((ROOT / "README.md").read_text("utf-8"), "", __version__)
    assert all(target.startswith("https://") for target in LINK.findall(adapted))
    assert "work on tracearena, read CONTRIBUTING.md." in adapted


def test_the_conda_recipe_takes_its_requirements_from_the_project() -> None:
    def load_file_data(path: str, *, from_recipe_dir: bool) -> Any:
        assert from_recipe_dir
        return tomllib.loads((ROOT / "conda" / path).read_text("utf-8"))

    text = (ROOT / "conda" / "meta.yaml").read_text("utf-8")
    recipe = yaml.safe_load(jinja2.Template(text).render(load_file_data=load_file_data, PYTHON="python"))
    assert recipe["package"] == {"name": "tracearena", "version": __version__}
    python, *others = recipe["requirements"]["run"]
    assert python.replace(" ", "") == f"python{PROJECT['requires-python']}"
    assert [one.replace("lazy_loader", "lazy-loader") for one in others] == PROJECT["dependencies"]
    script = recipe["build"]["entry_points"][0].replace(" ", "").split("=")
    assert script == ["tracearena", PROJECT["scripts"]["tracearena"]]
