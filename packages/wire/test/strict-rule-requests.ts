import { readFileSync } from "node:fs";
import type { RuleName } from "../check/upstream-rules.ts";
import { sharedData } from "../../../test/shared-data.ts";

const imageUrl = { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" };

/** Requests that violate their rule in all the ways that it covers. */
export const localCases: { rule: RuleName; title: string; request: object }[] = [
  {
    rule: "no-developer-role",
    title: "instructions, a developer message at the start and one in the middle",
    request: {
      instructions: "be kind",
      input: [
        { role: "developer", content: "be brief" },
        { role: "user", content: "hi" },
        { role: "developer", content: "be briefer" },
        { role: "user", content: "go on" },
      ],
    },
  },
  {
    rule: "single-leading-system",
    title: "a system message after a user message",
    request: {
      instructions: "be kind",
      input: [
        { role: "user", content: "hi" },
        { role: "system", content: "be brief" },
        { role: "user", content: "go on" },
      ],
    },
  },
  {
    rule: "tool-adjacency",
    title: "text, calls, results and the user in an order that only Responses allows",
    request: {
      input: [
        { role: "user", content: "compare" },
        { role: "assistant", content: "I will look." },
        call("call_aaa", "look"),
        { role: "assistant", content: "One more." },
        call("call_bbb", "look"),
        output("call_bbb", "B"),
        { role: "user", content: "hurry" },
        output("call_aaa", "A"),
        output("call_zzz", "nobody asked"),
        call("call_ccc", "look"),
      ],
    },
  },
  {
    rule: "no-empty-string-content",
    title: "empty messages, an empty result and a reply with only calls",
    request: {
      input: [
        { role: "user", content: "look" },
        { role: "user", content: "" },
        { role: "assistant", content: [{ type: "output_text", text: "" }] },
        call("call_aaa", "look"),
        output("call_aaa", ""),
      ],
    },
  },
  {
    rule: "needs-reasoning-content",
    title: "calls of an earlier and of the current turn, only one with reasoning",
    request: {
      input: [
        { role: "user", content: "look" },
        call("call_aaa", "look"),
        output("call_aaa", "A"),
        { role: "user", content: "again" },
        { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
        call("call_bbb", "look"),
        output("call_bbb", "B"),
      ],
    },
  },
  ...(["mistral-ids", "kimi-ids"] as const).map((rule) => ({
    rule,
    title: "call ids of other servers, one of them repeated",
    request: {
      input: [
        { role: "user", content: "look" },
        call("call_aaa", "look"),
        output("call_aaa", "A"),
        call("call_aaa", "look"),
        call("abcDEF123", "look"),
        call("functions.look:7", "look"),
        output("call_aaa", "A2"),
        output("abcDEF123", "B"),
        output("functions.look:7", "C"),
      ],
    },
  })),
  {
    rule: "no-forced-tool-choice",
    title: "a tool_choice that names a tool",
    request: {
      input: "look",
      tools: [{ type: "function", name: "look" }],
      tool_choice: { type: "function", name: "look" },
    },
  },
  {
    rule: "no-json-schema",
    title: "a JSON schema in a prompt without the word JSON",
    request: {
      input: "give me an object",
      text: { format: { type: "json_schema", name: "o", schema: { type: "object" } } },
    },
  },
  {
    rule: "stream-only",
    title: "a request that does not stream",
    request: { input: "hi", stream: false },
  },
  {
    rule: "known-params-only",
    title: "all parameters that Codex sends, and more",
    request: {
      input: "hi",
      store: false,
      include: ["reasoning.encrypted_content"],
      prompt_cache_key: "k",
      parallel_tool_calls: true,
      metadata: { a: "b" },
      service_tier: "auto",
      client_metadata: { x: "1" },
      text: { verbosity: "low" },
      truncation: "auto",
      user: "u",
      safety_identifier: "s",
      top_k: 40,
      max_output_tokens: 100,
      reasoning: { effort: "low", summary: "auto" },
    },
  },
  {
    rule: "temperature-1-only",
    title: "a low temperature",
    request: { input: "hi", temperature: 0.2 },
  },
  {
    rule: "tool-content-string",
    title: "two images in the results of one turn",
    request: {
      input: [
        { role: "user", content: "look" },
        call("call_aaa", "look"),
        call("call_bbb", "look"),
        output("call_aaa", [imageUrl]),
        output("call_bbb", [{ type: "input_text", text: "ok" }, imageUrl]),
      ],
    },
  },
  {
    rule: "params-required",
    title: "no parameters, null, and a schema without a type",
    request: {
      input: "hi",
      tools: [
        { type: "function", name: "a" },
        { type: "function", name: "b", parameters: null },
        { type: "function", name: "c", parameters: { properties: { x: {} } } },
      ],
    },
  },
  {
    rule: "moonshot-schema",
    title: "type next to anyOf, untyped properties, keywords next to $ref, all nested",
    request: {
      input: "hi",
      tools: [
        {
          type: "function",
          name: "f",
          parameters: {
            type: "object",
            anyOf: [{ properties: { a: {} } }, { required: ["b"] }],
            properties: {
              ref: { $ref: "#/$defs/x", description: "beside" },
              any: true,
              list: { items: { type: "object", anyOf: [{ properties: { z: {} } }] } },
              choice: { enum: [1, 2] },
            },
            $defs: { x: { properties: { y: { description: "no type" } } } },
          },
        },
      ],
    },
  },
  {
    rule: "function-tools-only",
    title: "every kind of tool, and names that are too long or have invalid characters",
    request: {
      input: "hi",
      tools: [
        { type: "custom", name: "apply_patch" },
        { type: "namespace", name: "mcp__a", tools: [{ type: "function", name: "b" }] },
        { type: "function", name: "n".repeat(70) },
        { type: "function", name: "лупа/größe" },
        { type: "tool_search", execution: "client" },
        { type: "local_shell" },
        { type: "web_search" },
      ],
    },
  },
  {
    rule: "no-user-after-tool",
    title: "an image in a result, followed by a user message",
    request: {
      input: [
        { role: "user", content: "look" },
        call("call_aaa", "look"),
        output("call_aaa", [imageUrl]),
        call("call_bbb", "look"),
        output("call_bbb", "B"),
        { role: "user", content: "hurry" },
      ],
    },
  },
  ...(["string-tool-choice", "auto-tool-choice"] as const).map((rule) => ({
    rule,
    title: "a tool_choice that names a tool",
    request: {
      input: "look",
      tools: [
        { type: "function", name: "look" },
        { type: "function", name: "listen" },
      ],
      tool_choice: { type: "function", name: "look" },
    },
  })),
  {
    rule: "no-json-object",
    title: "a json_object format",
    request: { input: "give me JSON", text: { format: { type: "json_object" } } },
  },
  ...(["no-response-format", "no-format-beside-tools"] as const).map((rule) => ({
    rule,
    title: "a JSON schema together with a tool",
    request: {
      input: "give me an object",
      tools: [{ type: "function", name: "look" }],
      text: { format: { type: "json_schema", name: "o", schema: { type: "object" } } },
    },
  })),
  {
    rule: "no-stream-options",
    title: "a streaming request",
    request: { input: "hi", stream: true },
  },
  { rule: "no-max-tokens", title: "a token limit", request: { input: "hi", max_output_tokens: 9 } },
  {
    rule: "no-null-content",
    title: "a reply with only calls",
    request: {
      input: [{ role: "user", content: "look" }, call("call_aaa", "look"), output("call_aaa", "A")],
    },
  },
  ...(["no-reasoning-content", "thinks-in-tags"] as const).map((rule) => ({
    rule,
    title: "calls and text, both with reasoning",
    request: {
      input: [
        { role: "user", content: "look" },
        { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
        call("call_aaa", "look"),
        output("call_aaa", "A"),
        { type: "reasoning", summary: [{ type: "summary_text", text: "so" }] },
        { role: "assistant", content: "A it is" },
        { role: "user", content: "sure?" },
      ],
    },
  })),
];

interface Quirk {
  id: string;
  class: string;
  title: string;
  request?: object;
  rule?: RuleName | null;
}

export const catalogCases = readQuirks().flatMap(({ id, class: kind, title, rule, request }) =>
  kind === "request" && request
    ? [{ rule: rule ?? undefined, title: `${id}, ${title}`, request }]
    : [],
);
/** Local cases, and the cases of the shared catalog that have a rule. */
export const casesWithRule = [...localCases, ...catalogCases].flatMap(({ rule, ...rest }) =>
  rule === undefined ? [] : [{ rule, ...rest }],
);

function readQuirks(): Quirk[] {
  const { path, isMissing } = sharedData("quirks/quirks.json");
  return isMissing ? [] : (JSON.parse(readFileSync(path, "utf8")) as { quirks: Quirk[] }).quirks;
}

function call(id: string, name: string): object {
  return { type: "function_call", call_id: id, name, arguments: "{}" };
}

function output(id: string, value: unknown): object {
  return { type: "function_call_output", call_id: id, output: value };
}
