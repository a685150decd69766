"""External back ends: found, checked, used, or rejected with a reason."""
