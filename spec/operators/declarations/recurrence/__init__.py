"""Recurrences over tokens: delta rules, selective scan, RWKV."""
