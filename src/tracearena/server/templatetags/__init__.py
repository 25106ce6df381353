"""What the templates of the site share."""
