"""Programs of users, compiled and run."""
