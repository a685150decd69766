"""Views and copies of elements in other places."""
