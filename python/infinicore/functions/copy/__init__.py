"""Views, and copies that rearrange elements."""
