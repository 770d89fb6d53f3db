import fc from "fast-check";
import { expect, test } from "vitest";
import { collectResponse, genericProfile, withProfileFlags } from "@deltawire/wire";
import { propertyRuns } from "../../../test/property-runs.ts";
import { playChatToResponses } from "../check/play.ts";
import { ThinkTagParser, type ThinkTagSegment } from "../src/chat-upstream/think-tag-parser.ts";

/** Parses content that arrives in these pieces. */
function parseSegments(pieces: string[], startsInside = false): ThinkTagSegment[] {
  const parser = new ThinkTagParser(startsInside);
  const segments: ThinkTagSegment[] = [];
  for (const piece of pieces) parser.push(piece, segments);
  parser.end(segments);
  return segments;
}

/** Returns the joined reasoning and the joined text of content that arrives in these pieces. */
function parse(pieces: string[], startsInside = false): { reasoning: string; text: string } {
  const segments = parseSegments(pieces, startsInside);
  const joinText = (isReasoning: boolean) =>
    segments
      .filter((segment) => segment.isReasoning === isReasoning)
      .map(({ text }) => text)
      .join("");
  return { reasoning: joinText(true), text: joinText(false) };
}

test.each([
  ["a leading block is reasoning", "<think>hm</think>Hi", "hm", "Hi"],
  ["a leading <reasoning> block is reasoning", "<reasoning>hm</reasoning>Hi", "hm", "Hi"],
  [
    "a block after white space is reasoning, while the white space is text",
    " \n<think>hm</think>\n\nHi",
    "hm",
    " \n\n\nHi",
  ],
  [
    "consecutive blocks are all reasoning",
    "<think>a</think><think>b</think>\n<think>c</think>Hi",
    "abc",
    "\nHi",
  ],
  ["an unclosed block is reasoning up to the end", "<think>hm", "hm", ""],
  ["an empty block is removed", "<think></think>Hi", "", "Hi"],
  ["content without a tag is text", "Hi", "", "Hi"],
  ["text that starts like a tag is text", "<thin air>", "", "<thin air>"],
  ["a truncated tag at the end is text", "<thi", "", "<thi"],
  ["a tag after text is text", "Hi <think>hm</think>", "", "Hi <think>hm</think>"],
  [
    "a tag in code is text",
    "`<think>` and ```\n<think>x</think>\n```",
    "",
    "`<think>` and ```\n<think>x</think>\n```",
  ],
  [
    "a tag after the answer has started is text",
    "<think>a</think>Hi<think>b</think>",
    "a",
    "Hi<think>b</think>",
  ],
  [
    "a closing tag in backticks does not close the block",
    "<think>use `</think>` so</think>Hi",
    "use `</think>` so",
    "Hi",
  ],
  ["an unmatched backtick does not hide the closing tag", "<think>code`</think>Hi", "code`", "Hi"],
  [
    "a closing tag with the other name does not close the block",
    "<think>a</reasoning>b</think>Hi",
    "a</reasoning>b",
    "Hi",
  ],
  ["a stray closing tag is text", "Hi</think>", "", "Hi</think>"],
])("%s", (_title, content, reasoning, text) => {
  expect(parse([content])).toEqual({ reasoning, text });
  expect(parse(content.split(""))).toEqual({ reasoning, text });
});

test("content starts inside a block if the prompt ended with the opening tag", () => {
  expect(parse(["hm</th", "ink>Hi"], true)).toEqual({ reasoning: "hm", text: "Hi" });
  expect(parse(["all of it"], true)).toEqual({ reasoning: "all of it", text: "" });
});

test.each([
  [{}, "hm</think>Hi", ["message"]],
  [{ startsInsideThink: true }, "hm</think>Hi", ["reasoning", "message"]],
  [{}, "<think>hm</think>Hi", ["reasoning", "message"]],
  [{ thinkTags: false }, "<think>hm</think>Hi", ["message"]],
])("with the flags %j, the content %j becomes items of the types %j", (flags, content, types) => {
  const chunk = { choices: [{ index: 0, delta: { content }, finish_reason: "stop" }] };
  const { out } = playChatToResponses([`data: ${JSON.stringify(chunk)}\n\n`], {
    profile: withProfileFlags(genericProfile, flags),
  });
  expect(collectResponse(out)?.output.map(({ type }) => type)).toEqual(types);
});

test("the result does not depend on splits, and nothing but tags is removed", () => {
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
      const unsplit = parse([content]);
      expect(parse(content.split(""))).toEqual(unsplit);
      expect(parse(tokens)).toEqual(unsplit);
      const removeTags = (text: string) => text.replaceAll(/<\/?(?:think|reasoning)>/g, "");
      const segments = parseSegments([content]);
      expect(removeTags(segments.map(({ text }) => text).join(""))).toBe(removeTags(content));
    }),
    propertyRuns(1000),
  );
});
