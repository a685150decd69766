"""Recurrent and linear attention."""
