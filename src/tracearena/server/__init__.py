"""The contest's server: web, judge and the secrets between them."""
