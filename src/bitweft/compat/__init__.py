"""bitweft under the names of other tools: what runs with them runs here after one import is changed."""
