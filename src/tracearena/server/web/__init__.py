"""What browsers get: views, navigation, languages, and a worker that waits for slow lines."""
