"""What makes the site: pages that run, pictures, commands and the API, each from one source."""
