import { readFileSync } from "node:fs";
import type { RuleName } from "../check/upstream-rules.ts";
import { sharedData } from "../../../test/shared-data.ts";

const picture = { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" };

/** Each asks for everything that its rule forbids. */
export const ownCases: { rule: RuleName; title: string; request: object }[] = [
  {
    rule: "no-developer-role",
    title: "instructions, a developer message in front and one in the middle",
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
    title: "a system message after the user has spoken",
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
    title: "empty messages, an empty result and a reply that only calls",
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
    title: "calls of an earlier turn and of this one, only one of them with its reasoning",
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
    title: "ids of other servers, one of them twice",
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
    title: "one tool by name",
    request: {
      input: "look",
      tools: [{ type: "function", name: "look" }],
      tool_choice: { type: "function", name: "look" },
    },
  },
  {
    rule: "no-json-schema",
    title: "a schema, and nobody says the word",
    request: {
      input: "give me an object",
      text: { format: { type: "json_schema", name: "o", schema: { type: "object" } } },
    },
  },
  {
    rule: "stream-only",
    title: "a whole reply is asked for",
    request: { input: "hi", stream: false },
  },
  {
    rule: "known-params-only",
    title: "everything that Codex sends, and more",
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
  { rule: "temperature-1-only", title: "a cool model", request: { input: "hi", temperature: 0.2 } },
  {
    rule: "tool-content-string",
    title: "two pictures in the results of one turn",
    request: {
      input: [
        { role: "user", content: "look" },
        call("call_aaa", "look"),
        call("call_bbb", "look"),
        output("call_aaa", [picture]),
        output("call_bbb", [{ type: "input_text", text: "ok" }, picture]),
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
    title: "type beside anyOf, untyped properties, keywords beside $ref, all of it nested",
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
    title: "every kind of tool, and names that are too long or of other letters",
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
    title: "a picture in a result, and the user speaks before the model does",
    request: {
      input: [
        { role: "user", content: "look" },
        call("call_aaa", "look"),
        output("call_aaa", [picture]),
        call("call_bbb", "look"),
        output("call_bbb", "B"),
        { role: "user", content: "hurry" },
      ],
    },
  },
  ...(["string-tool-choice", "auto-tool-choice"] as const).map((rule) => ({
    rule,
    title: "one tool by name",
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
    title: "any object",
    request: { input: "give me JSON", text: { format: { type: "json_object" } } },
  },
  ...(["no-response-format", "no-format-beside-tools"] as const).map((rule) => ({
    rule,
    title: "a schema, beside a tool",
    request: {
      input: "give me an object",
      tools: [{ type: "function", name: "look" }],
      text: { format: { type: "json_schema", name: "o", schema: { type: "object" } } },
    },
  })),
  { rule: "no-stream-options", title: "a stream", request: { input: "hi", stream: true } },
  { rule: "no-max-tokens", title: "a limit", request: { input: "hi", max_output_tokens: 9 } },
  {
    rule: "no-null-content",
    title: "a reply that only calls",
    request: {
      input: [{ role: "user", content: "look" }, call("call_aaa", "look"), output("call_aaa", "A")],
    },
  },
  ...(["no-reasoning-content", "thinks-in-tags"] as const).map((rule) => ({
    rule,
    title: "calls and a text, both thought over",
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

export const seenCases = readQuirks().flatMap(({ id, class: kind, title, rule, request }) =>
  kind === "request" && request
    ? [{ rule: rule ?? undefined, title: `${id}, ${title}`, request }]
    : [],
);
/** Ours and those of the shared catalogue, where there is a rule for them. */
export const ruledCases = [...ownCases, ...seenCases].flatMap(({ rule, ...rest }) =>
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
