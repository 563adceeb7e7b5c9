"""What the editing page sends: checked by pydantic, described by OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, TypeAdapter
from pydantic.json_schema import models_json_schema

import bitweft
from bitweft.server.editing import EXPORTS
from bitweft.server.schema import Asked, ProblemAnswer, content, problem_response

LONGEST_COMMENT = 10_000

Position = Annotated[int, Field(ge=0)]
Links = list[tuple[Position, Position]]


class Unlinked(Asked):
    """Words that have no link, on purpose."""

    source: list[Position] = Field(default_factory=list)
    target: list[Position] = Field(default_factory=list)


class Saved(Asked):
    """What is said of one pair."""

    pair: Position = Field(description="the pair, counted from 0")
    version: str = Field(max_length=64, description="the version that this is a change of")
    sure: Links = Field(description="[source, target] of the sure links, zero-based")
    possible: Links = Field(default_factory=list, description="of the links that are only possible")
    unlinked: Unlinked = Field(default_factory=Unlinked)
    comment: str = Field("", max_length=LONGEST_COMMENT)
    done: bool = Field(False, description="whether the pair is finished")


class Accepted(Asked):
    """Which pairs to take suggestions for."""

    pairs: list[Position] = Field(description="the pairs, counted from 0; those that were begun stay")
    threshold: float = Field(ge=0, le=1, description="the least probability of a link that is taken")


SAVED: TypeAdapter[Saved] = TypeAdapter(Saved)
ACCEPTED: TypeAdapter[Accepted] = TypeAdapter(Accepted)

_PROBLEMS = {
    "403": "the request comes from a page of another site",
    "409": "the pair was changed elsewhere: ask for the changes and decide",
    "415": "the body is not application/json",
    "422": "the JSON is not what was asked for, or does not fit the text",
}


def edit_openapi(can_learn: bool) -> dict[str, Any]:
    """Describe the API of editing."""
    _, schemas = models_json_schema(
        [(Saved, "validation"), (Accepted, "validation"), (ProblemAnswer, "serialization")],
        ref_template="#/components/schemas/{model}",
    )
    save = {
        "operationId": "save",
        "summary": "Save what is said of one pair, if nobody has changed it since",
        "requestBody": {"required": True, "content": content("Saved")},
        "responses": {"200": {"description": "the judgment as it was saved, with its new version"}}
        | {status: problem_response(what) for status, what in _PROBLEMS.items()},
    }
    accept = {
        "operationId": "accept",
        "summary": "Take suggestions as sure links, for pairs that nobody has begun",
        "requestBody": {"required": True, "content": content("Accepted")},
        "responses": {"200": {"description": "how many pairs were begun by it"}}
        | {status: problem_response(what) for status, what in _PROBLEMS.items() if status != "409"},
    }
    gets = {
        "/edit/state": ("state", "Give all pairs, suggestions and judgments"),
        "/edit/changes": ("changes", "Give what has changed since the revision `since`"),
        "/edit/export/{link_format}": ("export", "Give the gold links of what is done, in a format of links"),
    }
    parameters: dict[str, list[dict[str, Any]]] = {
        "state": [],
        "changes": [{"name": "since", "in": "query", "schema": {"type": "integer", "minimum": 0}}],
        "export": [
            {"name": "link_format", "in": "path", "required": True, "schema": {"enum": list(EXPORTS)}}
        ],
    }
    answer = {"200": {"description": "the answer"}}
    paths: dict[str, Any] = {
        path: {
            "get": {"operationId": name, "summary": what, "parameters": parameters[name], "responses": answer}
        }
        for path, (name, what) in gets.items()
    }
    paths["/edit/save"] = {"post": save}
    paths["/edit/accept"] = {"post": accept}
    if can_learn:
        learn = {"operationId": "learn", "summary": "Learn from the pairs that are done, and suggest anew"}
        paths["/edit/learn"] = {"post": {**learn, "responses": {"200": {"description": "what it came to"}}}}
    about = (
        "Editing of gold links. Every change is written before the answer; errors are problems of RFC 9457."
    )
    return {
        "openapi": "3.1.0",
        "info": {"title": "bitweft edit", "version": bitweft.__version__, "description": about},
        "paths": paths,
        "components": {"schemas": schemas["$defs"]},
    }
