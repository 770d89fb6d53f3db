import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { flagsFor, quirkFaults, type Quirk } from "../check/quirk.ts";
import { chunk } from "./chat-stream.ts";
import { ownQuirks } from "./own-quirks.ts";

test.each(ownQuirks.map((quirk) => [quirk.title, quirk] as const))("%s", (_title, quirk) => {
  expect(quirkFaults(quirk)).toEqual([]);
});

const catalogue = fileURLToPath(new URL("../../../../shared/quirks/quirks.json", import.meta.url));

test("every stream and nonstream case of the shared catalogue, the optional ones under their flags", () => {
  if (!existsSync(catalogue)) {
    console.log("The shared quirks are not here: only our own cases were played.");
    return;
  }
  const { quirks } = JSON.parse(readFileSync(catalogue, "utf8")) as { quirks: Quirk[] };
  const played = quirks.filter((quirk) => flagsFor(quirk) !== undefined);
  expect(played.length).toBeGreaterThan(0);
  const failed = played
    .map((quirk) => [quirk.id, quirkFaults(quirk)])
    .filter(([, faults]) => faults?.length);
  expect(failed).toEqual([]);
});

test("the check itself can fail: on another text, another call, another status, a field nobody knows", () => {
  const quirk = ownQuirks[0];
  if (quirk === undefined) throw new Error("no case");
  const faults = (expected: object) =>
    quirkFaults({ ...quirk, expect: { ...quirk.expect, ...expected } });
  expect(faults({ text: "other" })).not.toEqual([]);
  expect(faults({ tool_calls: [] })).not.toEqual([]);
  expect(faults({ status: "failed" })).not.toEqual([]);
  expect(faults({ usage: [1, 1] })).not.toEqual([]);
  expect(faults({ colour: "red" })).toEqual(["expect.colour: unknown to this check"]);
});

test("an optional case is played under the flags that are known for it, and without them not at all", () => {
  const optional = { id: "TC-LEAK-KIMI", class: "stream", title: "", optional: true };
  expect(flagsFor(optional)).toEqual({ leakedCalls: ["kimi"] });
  expect(flagsFor({ ...optional, id: "TC-OTHER" })).toBeUndefined();
  expect(flagsFor({ ...optional, optional: false })).toEqual({});
  expect(flagsFor({ ...optional, class: "request" })).toBeUndefined();
  const content =
    "<|tool_call_begin|>functions.health:0<|tool_call_argument_begin|>{}<|tool_call_end|>";
  const wire = { chunks: [chunk({ content }), chunk({}, "stop")] };
  const expected = { tool_calls: [{ name: "health", arguments: {} }], text: "" };
  expect(quirkFaults({ ...optional, wire, expect: expected })).toEqual([]);
  expect(quirkFaults({ ...optional, optional: false, wire, expect: expected })).not.toEqual([]);
});
