import fc from "fast-check";
import { expect, test } from "vitest";
import { collectResponse, genericProfile, withFlags } from "@deltawire/wire";
import { runs } from "../../../test/runs.ts";
import { playToResponses } from "../check/play.ts";
import { ThinkTags, type TaggedText } from "../src/chat-upstream/think-tags.ts";

function split(pieces: string[], startsInside = false): { reasoning: string; text: string } {
  const tags = new ThinkTags(startsInside);
  const out: TaggedText[] = [];
  for (const piece of pieces) tags.push(piece, out);
  tags.end(out);
  const said = (reasoning: boolean) =>
    out
      .filter((part) => part.reasoning === reasoning)
      .map((part) => part.text)
      .join("");
  return { reasoning: said(true), text: said(false) };
}

test.each([
  ["a leading block is reasoning", "<think>hm</think>Hi", "hm", "Hi"],
  ["also under the other name", "<reasoning>hm</reasoning>Hi", "hm", "Hi"],
  ["also after blanks, which stay text", " \n<think>hm</think>\n\nHi", "hm", " \n\n\nHi"],
  ["blocks in a row", "<think>a</think><think>b</think>\n<think>c</think>Hi", "abc", "\nHi"],
  ["a block that never closes", "<think>hm", "hm", ""],
  ["an empty block", "<think></think>Hi", "", "Hi"],
  ["no tag", "Hi", "", "Hi"],
  ["the beginning of a tag that is none", "<thin air>", "", "<thin air>"],
  ["a cut-off tag at the end", "<thi", "", "<thi"],
  ["a tag after real text is text", "Hi <think>hm</think>", "", "Hi <think>hm</think>"],
  [
    "a tag in code is text",
    "`<think>` and ```\n<think>x</think>\n```",
    "",
    "`<think>` and ```\n<think>x</think>\n```",
  ],
  [
    "a tag after the answer began is text",
    "<think>a</think>Hi<think>b</think>",
    "a",
    "Hi<think>b</think>",
  ],
  [
    "a closing tag in backticks is thought about",
    "<think>use `</think>` so</think>Hi",
    "use `</think>` so",
    "Hi",
  ],
  ["a backtick before the closing tag", "<think>code`</think>Hi", "code`", "Hi"],
  ["another closing tag", "<think>a</reasoning>b</think>Hi", "a</reasoning>b", "Hi"],
  ["a stray closing tag is text", "Hi</think>", "", "Hi</think>"],
])("%s", (_title, content, reasoning, text) => {
  expect(split([content])).toEqual({ reasoning, text });
  expect(split(content.split(""))).toEqual({ reasoning, text });
});

test("where the prompt opened the block, the content begins inside it", () => {
  expect(split(["hm</th", "ink>Hi"], true)).toEqual({ reasoning: "hm", text: "Hi" });
  expect(split(["all of it"], true)).toEqual({ reasoning: "all of it", text: "" });
});

test.each([
  [{}, "hm</think>Hi", ["message"]],
  [{ startsInsideThink: true }, "hm</think>Hi", ["reasoning", "message"]],
  [{}, "<think>hm</think>Hi", ["reasoning", "message"]],
  [{ thinkTags: false }, "<think>hm</think>Hi", ["message"]],
])("with %j a reply of %j is read as %j", (flags, content, types) => {
  const chunk = { choices: [{ index: 0, delta: { content }, finish_reason: "stop" }] };
  const { out } = playToResponses([`data: ${JSON.stringify(chunk)}\n\n`], {
    profile: withFlags(genericProfile, flags),
  });
  expect(collectResponse(out)?.output.map(({ type }) => type)).toEqual(types);
});

test("the pieces do not depend on where the content was cut, and no character is lost but tags", () => {
  const token = fc.constantFrom(
    "<think>",
    "</think>",
    "<reasoning>",
    "</reasoning>",
    "`",
    " ",
    "\n",
    "q",
    "<",
    "/",
    ">",
  );
  fc.assert(
    fc.property(fc.array(token, { maxLength: 12 }), (tokens) => {
      const content = tokens.join("");
      const whole = split([content]);
      expect(split(content.split(""))).toEqual(whole);
      expect(split(tokens)).toEqual(whole);
      const letters = (text: string) => text.replaceAll(/[^q]/g, "");
      expect(letters(whole.reasoning + whole.text)).toBe(letters(content));
    }),
    runs(1000),
  );
});
