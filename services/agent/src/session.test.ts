import { describe, expect, test } from "vitest";

import { messageText, userMessage } from "./message.ts";
import { Session } from "./session.ts";

const said = (text: string): ReturnType<typeof userMessage> => userMessage(text, 1);

describe("the tree", () => {
  test("append makes a chain; seeking and appending forks without losing the old branch", () => {
    const session = Session.fromMessages([said("a"), said("b")]);
    session.seek("e1");
    session.append(said("c"));
    expect(session.pathMessages().map(messageText)).toEqual(["a", "c"]);
    expect(session.children("e1")).toEqual(["e2", "e3"]);
    expect(session.tips()).toEqual(["e2", "e3"]);
    session.seek("e2");
    expect(session.pathMessages().map(messageText)).toEqual(["a", "b"]);
    session.seek(null);
    session.append(said("root two"));
    expect(session.children(null)).toEqual(["e1", "e4"]);
  });

  test("checkpoints name places, a later one of the same name wins, unknown names are errors", () => {
    const session = new Session();
    expect(() => session.checkpoint("x")).toThrow("no message");
    session.append(said("a"));
    session.checkpoint("x");
    session.append(said("b"));
    session.checkpoint("x");
    session.append(said("c"));
    session.seekCheckpoint("x");
    expect(session.head).toBe("e2");
    expect(() => session.seekCheckpoint("y")).toThrow("no checkpoint");
    expect(() => session.seek("e9")).toThrow("no entry");
  });

  test("a history that continues the branch is appended, one that does not is told where it parts", () => {
    const session = Session.fromMessages([said("a"), said("b")]);
    expect(session.appendNew([said("a"), said("b"), said("c")])).toEqual(["e3"]);
    expect(session.appendNew([said("a"), said("x")])).toEqual({ divergedAt: 1 });
    expect(session.appendNew([said("a")])).toEqual({ divergedAt: 1 });
  });
});

describe("lines", () => {
  test("every change is one line, and reading them gives the same tree, head and names", () => {
    let file = "";
    const session = new Session((line) => void (file += line));
    session.append(said("a"));
    session.append(said("b"));
    session.checkpoint("x");
    session.seek("e1");
    session.append(said("c"));
    session.seek("e2");
    const read = Session.fromJsonl(file);
    expect(read.head).toBe("e2");
    expect(read.tips()).toEqual(session.tips());
    read.seek("e3");
    read.seekCheckpoint("x");
    expect(read.head).toBe("e2");
    expect(read.append(said("d"))).toBe("e4");
    expect(Session.fromJsonl(session.toJsonl()).toJsonl()).toBe(session.toJsonl());
  });

  test("a torn last line is left out; blank lines are fine", () => {
    const whole = Session.fromMessages([said("a"), said("b")]).toJsonl();
    expect(Session.fromJsonl(`${whole}\n{"entry":{"id":"e3"`).size).toBe(2);
  });

  const entry = (id: string, parentId: string | null): string =>
    `${JSON.stringify({ entry: { id, parentId, message: said("a"), timestamp: 1 } })}\n`;

  test.each([
    ["a bad line", `${entry("e1", null)}nonsense\n`, "line 2"],
    ["an id twice", entry("e1", null) + entry("e1", null), "repeats the id e1"],
    ["a parent that comes later", entry("e2", "e1") + entry("e1", null), "parent that does not come before"],
    ["a head that does not exist", `${entry("e1", null)}{"head":"e7"}\n`, "does not exist"],
    ["no message", '{"entry":{"id":"e1","parentId":null}}\n', "line 1"],
  ])("%s is refused by line", (_what, text, message) => {
    expect(() => Session.fromJsonl(text)).toThrow(message);
  });
});
