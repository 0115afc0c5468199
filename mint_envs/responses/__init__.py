"""Responses whose worth is known by how they were made: right, nearly right, wrong, hostile."""
