"""Editing pictures: remove or replace the text on signs. The local editor is :mod:`.paint`."""
