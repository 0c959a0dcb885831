"""Nothing changes files before its plan was agreed on: by a token, or by the person, in each revision's way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .conftest import SESSION
from .peer import MIDDLE, NEW, OLD, VERSIONS, Peer

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import World

YES = {"action": "accept", "content": {"confirm": True}}
UNTICKED = {"action": "accept", "content": {"confirm": False}}
NO = {"action": "decline"}
DISMISSED = {"action": "cancel"}


def says(*answers: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A person who gives these answers, one after the other."""
    left = list(answers)
    return lambda _: left.pop(0)


# -- tokens


def test_a_plan_changes_nothing_and_its_token_holds_while_the_plan_does(world: World) -> None:
    world.step(a_txt="one\nTWO\nthree\n")
    peer = world.peer()
    token = peer.done("undo")["token"]
    assert peer.done("undo")["token"] == token
    # what has nothing to do with it does not change it
    world.write(b_txt="elsewhere\n", c_txt="new\n")
    # nor does another server for the same folder
    assert world.peer().done("undo", token=token)["status"] == "done"
    assert (world.text("a.txt"), world.text("b.txt")) == ("one\ntwo\nthree\n", "elsewhere\n")


@pytest.mark.parametrize(
    "change",
    [
        lambda world: world.write(a_txt="zero\none\nTWO\nthree\n"),
        lambda world: world.write(a_txt="one\n2\nthree\n"),
        lambda world: world.write(a_txt=None),
        lambda world: world.step(b_txt="a later step\n"),
        lambda world: world.client.session_undo(SESSION),
    ],
    ids=["the file elsewhere", "the same lines", "deleted", "a later step", "undone"],
)
def test_a_token_that_no_longer_fits_is_refused_with_the_plan_as_it_is(
    world: World, change: Callable[[World], None]
) -> None:
    world.step(b_txt="before\n", c_txt="c\n")
    world.step(a_txt="one\nTWO\nthree\n", d_txt="d\n")
    peer = world.peer()
    old = peer.done("undo")["token"]
    change(world)
    before = world.client.track()["hash"]
    refused = peer.call("undo", token=old)
    assert refused["isError"] is True
    plan = refused["structuredContent"]
    assert plan["status"] == "refused"
    assert plan["token"] not in (old, None)
    assert world.client.track()["hash"] == before
    assert peer.done("undo")["token"] == plan["token"]
    assert peer.done("undo", token=plan["token"])["status"] == "done"


@pytest.mark.parametrize("other", [{"count": 2}, {"session": "all"}, {"step": "last"}])
def test_a_token_is_for_the_arguments_that_it_was_given_for(world: World, other: dict[str, Any]) -> None:
    world.step(b_txt="before\n")
    world.step(a_txt="mine\n")
    peer = world.peer()
    token = peer.done("undo")["token"]
    assert peer.call("undo", token=token, **other)["structuredContent"]["status"] == "refused"
    assert world.text("a.txt") == "mine\n"


def test_a_token_is_for_one_tool_and_is_spent_with_its_plan(world: World) -> None:
    world.step(a_txt="mine\n")
    peer = world.peer()
    token = peer.done("undo")["token"]
    assert peer.failed("redo", token=token)["kind"] == "nothingToRedo"
    assert peer.call("restore_file", path="a.txt", step="last", token=token)["isError"] is True
    assert peer.call("undo", token="no token at all")["structuredContent"]["status"] == "refused"
    assert peer.done("undo", token=token)["status"] == "done"
    assert peer.failed("undo", token=token)["kind"] == "nothingToUndo"


def test_two_calls_with_one_token_do_it_once(world: World) -> None:
    for name in ("a_txt", "b_txt"):
        world.step(**{name: "mine\n"})
    peer = world.peer()
    token = peer.done("undo")["token"]
    calls = {peer.begin("undo", token=token), peer.begin("undo", token=token)}
    statuses = set()
    for _ in calls:
        answer = peer.read()
        assert answer is not None
        statuses.add(answer["result"]["structuredContent"]["status"])
    assert statuses == {"done", "refused"}
    assert (world.text("a.txt"), world.text("b.txt")) == ("mine\n", "b\n")


def test_what_is_typed_between_plan_and_undo_is_never_overwritten(world: World) -> None:
    step = world.step(a_txt="mine\n")
    peer = world.peer()
    token = peer.done("restore_file", path="a.txt", step=step)["token"]
    world.write(a_txt="typed meanwhile\n")
    refused = peer.call("restore_file", path="a.txt", step=step, token=token)["structuredContent"]
    assert refused["status"] == "refused"
    assert "-typed meanwhile" in refused["diff"]
    assert world.text("a.txt") == "typed meanwhile\n"


def test_unsaved_text_in_an_editor_is_left_alone(world: World) -> None:
    step = world.step(a_txt="mine\n")
    uri = f"file://{world.folder}/a.txt"
    document = {"uri": uri, "languageId": "x", "version": 1, "text": "mine\n"}
    world.client.notify("textDocument/didOpen", {"textDocument": document})
    change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "typing\n"}]}
    world.client.notify("textDocument/didChange", change)
    world.client.status()
    result = world.peer().call("restore_file", path="a.txt", step=step)
    assert (result["isError"], result["structuredContent"]["status"]) == (True, "blocked")
    assert result["structuredContent"]["files"][0]["reason"] == "unsavedInEditor"


# -- the person


@pytest.mark.parametrize("version", VERSIONS)
def test_the_person_is_asked_where_the_client_can(world: World, version: str) -> None:
    step = world.step(a_txt="mine\n", c_txt="c\n")
    peer = world.peer(version, says(YES))
    done = peer.done("undo")
    assert (done["status"], world.text("a.txt"), world.text("c.txt")) == ("done", "one\ntwo\nthree\n", None)
    (asked,) = peer.asked
    for said in ("Undo this?", step[:8], "a.txt", "delete: c.txt", "2 files"):
        assert said in asked["message"]
    form = asked["requestedSchema"]
    assert (form["type"], list(form["properties"]), form["required"]) == ("object", ["confirm"], ["confirm"])
    # without a default, clients have the person tick it or not
    assert form["properties"]["confirm"].keys() == {"type", "title", "description"}
    assert form["properties"]["confirm"]["type"] == "boolean"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("answer", [NO, UNTICKED, {"action": "accept"}], ids=["no", "unticked", "empty"])
def test_what_the_person_does_not_agree_to_is_not_done(world: World, version: str, answer: dict[str, Any]) -> None:
    world.step(a_txt="mine\n")
    result = world.peer(version, says(answer)).done("undo")
    assert (result["status"], world.text("a.txt")) == ("declined", "mine\n")
    assert "token" not in result


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("answer", [DISMISSED, {"action": "?"}, {}], ids=["dismissed", "unknown", "empty"])
def test_who_dismisses_the_question_has_not_agreed(world: World, version: str, answer: dict[str, Any]) -> None:
    world.step(a_txt="mine\n")
    peer = world.peer(version, says(answer, answer))
    plan = peer.done("undo")
    assert (plan["status"], plan["unanswered"], world.text("a.txt")) == ("declined", True, "mine\n")
    assert "token" not in plan
    # nor does a token help that the model has from elsewhere
    elsewhere = world.peer(version).done("undo")["token"]
    assert peer.done("undo", token=elsewhere)["status"] == "declined"
    assert (len(peer.asked), world.text("a.txt")) == (2, "mine\n")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_wrong_token_has_the_person_asked(world: World, version: str) -> None:
    world.step(a_txt="mine\n")
    peer = world.peer(version, says(NO))
    assert peer.done("undo", token="guessed")["status"] == "declined"
    assert world.text("a.txt") == "mine\n"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_person_is_asked_again_if_the_plan_changed_while_they_read_it(world: World, version: str) -> None:
    world.step(a_txt="mine\n")

    def answer(params: dict[str, Any]) -> dict[str, Any]:
        if len(peer.asked) == 1:
            world.step(b_txt="meanwhile\n")
        return YES

    peer = world.peer(version, answer)
    assert peer.done("undo")["status"] == "done"
    first, second = peer.asked
    assert "a.txt" in first["message"]
    assert "b.txt" in second["message"]
    assert "since, so this is a new plan" in second["message"]
    assert (world.text("a.txt"), world.text("b.txt")) == ("mine\n", "b\n")


@pytest.mark.parametrize("version", [OLD, MIDDLE])
def test_a_client_that_refuses_to_ask_has_no_agreement(world: World, version: str) -> None:
    world.step(a_txt="mine\n")
    peer = world.peer(version, says())
    call = peer.begin("undo")
    question = peer.read()
    assert question is not None
    assert question["method"] == "elicitation/create"
    error = {"code": -32601, "message": "no"}
    peer.send({"jsonrpc": "2.0", "id": question["id"], "error": error})
    result = peer.checked(peer.answer(call))["structuredContent"]
    assert (result["status"], result["unanswered"]) == ("declined", True)
    assert "token" not in result


@pytest.mark.parametrize("version", [OLD, MIDDLE])
def test_a_call_that_is_cancelled_takes_its_question_back(world: World, version: str) -> None:
    world.step(a_txt="mine\n")
    peer = world.peer(version, says())
    call = peer.begin("undo")
    question = peer.read()
    assert question is not None
    peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}})
    told = peer.read()
    assert told is not None
    assert (told["method"], told["params"]["requestId"]) == ("notifications/cancelled", question["id"])
    # too late
    peer.send({"jsonrpc": "2.0", "id": question["id"], "result": YES})
    assert peer.result("ping") == {}
    assert world.text("a.txt") == "mine\n"


def test_a_question_ends_with_the_connection(world: World) -> None:
    world.step(a_txt="mine\n")
    process, peer = world.start(MIDDLE, says())
    peer.connect()
    peer.begin("undo")
    peer.read()
    peer.hang_up()
    assert peer.read() is None
    assert world.machine.exit_code(process) == 0
    assert world.text("a.txt") == "mine\n"


@pytest.mark.parametrize("elicitation", [{"url": {}}, None, 1])
def test_a_client_without_forms_is_not_asked(world: World, elicitation: Any) -> None:
    world.step(a_txt="mine\n")
    _, peer = world.start()
    capabilities = {} if elicitation is None else {"elicitation": elicitation}
    peer.result("initialize", {"protocolVersion": MIDDLE, "capabilities": capabilities})
    assert peer.done("undo")["status"] == "planned"


# -- answers in requests


def forged(world: World, **brought: Any) -> tuple[Peer, dict[str, Any]]:
    """What a call of `undo` is answered with that brings things along as a second call does."""
    peer = world.peer(NEW, says())
    return peer, peer.result("tools/call", {"name": "undo", "arguments": {}, **brought})


@pytest.mark.parametrize(
    "brought",
    [
        {"inputResponses": {"confirm": YES}},
        {"inputResponses": {"confirm": YES}, "requestState": "of another plan"},
        {"inputResponses": {"confirm": YES}, "requestState": 1},
        {"inputResponses": [YES], "requestState": "x"},
        {"inputResponses": {"other": YES}, "requestState": "x"},
        {"requestState": "x"},
    ],
)
def test_an_answer_without_its_question_is_not_believed(world: World, brought: dict[str, Any]) -> None:
    world.step(a_txt="mine\n")
    peer, result = forged(world, **brought)
    assert result["resultType"] == "input_required"
    assert world.text("a.txt") == "mine\n"
    state = result["requestState"]
    again = {"inputResponses": {"confirm": YES}, "requestState": state}
    result = peer.result("tools/call", {"name": "undo", "arguments": {}, **again})
    assert result["structuredContent"]["status"] == "done"


def test_an_answer_is_for_the_arguments_that_were_asked_about(world: World) -> None:
    world.step(b_txt="before\n")
    world.step(a_txt="mine\n")
    peer, result = forged(world)
    brought = {"inputResponses": {"confirm": YES}, "requestState": result["requestState"]}
    again = peer.result("tools/call", {"name": "undo", "arguments": {"count": 2}, **brought})
    assert again["resultType"] == "input_required"
    assert (world.text("a.txt"), world.text("b.txt")) == ("mine\n", "before\n")


def test_reads_go_on_while_the_person_thinks(world: World) -> None:
    world.step(a_txt="mine\n")
    peer = world.peer(MIDDLE, says())
    undo = peer.begin("undo")
    question = peer.read()
    assert question is not None
    assert peer.done("history")["entries"]
    peer.send({"jsonrpc": "2.0", "id": question["id"], "result": YES})
    assert peer.checked(peer.answer(undo))["structuredContent"]["status"] == "done"
