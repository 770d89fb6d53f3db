import {
  chatRequest,
  decodeChatRequest,
  decodeResponsesRequest,
  estimateRequestTokens,
  genericProfile,
  mendedChatRequest,
  mendedResponsesRequest,
  profileNamed,
  profileNames,
  responsesRequest,
  withFlags,
  WireError,
  type Profile,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";

/* Requests that are nearly right: whatever can be decoded can be asked of every upstream. */

const word = fc.constantFrom(
  "", "auto", "none", "required", "function", "custom", "allowed_tools", "json_schema", "json_object", "text",
  "image_url", "input_audio", "file", "refusal", "reasoning", "web_search", "call_1", "call_2", "f", "f".repeat(80),
  "data:image/png;base64,AA", "{}", "{", "low", "vast",
); // prettier-ignore
/** Anything, where decoding does not look. */
const odd = fc.oneof(word, fc.jsonValue({ maxDepth: 2 }));
const object = fc.dictionary(word, odd, { maxKeys: 3 });
const list = fc.array(odd, { maxLength: 3 });
/** What decoding insists on, and now and then something else. */
const nearly = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 99, arbitrary: value }, { weight: 1, arbitrary: odd });

const declared = fc.record(
  {
    name: word,
    description: fc.oneof(word, fc.constant(null)),
    parameters: fc.oneof(
      fc.constant(null),
      fc.dictionary(fc.constantFrom("type", "properties", "anyOf", "$ref", "items"), odd),
    ),
    strict: odd,
    format: odd,
  },
  { requiredKeys: ["name"] },
);
const tool = fc.oneof(
  declared.map((described) => ({ type: "function", function: described })),
  declared.map((described) => ({ type: "custom", custom: described })),
  object.map((fields) => ({ ...fields, type: "web_search" })),
);
const id = fc.constantFrom("call_1", "call_2", "");
const called = fc.record({ name: word, arguments: word, extra: odd });
const call = fc.oneof(
  fc.record({ id, type: odd.filter((type) => type !== "custom"), function: called }),
  fc.record({ id, function: called, extra_content: odd }),
  fc.record({ id, type: fc.constant("custom"), custom: fc.record({ name: word, input: word }) }),
);
const part = fc.oneof(
  fc.record({ type: fc.constant("text"), text: word }),
  fc.record({ type: fc.constant("refusal"), refusal: word }),
  fc.record({ type: fc.constant("image_url"), image_url: fc.record({ url: word, detail: odd }) }),
  fc.record({ type: fc.constant("input_audio"), input_audio: object }),
  fc.record({ type: fc.constant("file"), file: object }),
  object.map((fields) => ({ ...fields, type: "novelty" })),
);
const content = fc.oneof(word, fc.array(part, { maxLength: 3 }));
const message = fc.oneof(
  fc.record({ role: fc.constantFrom("system", "developer", "user"), content, name: odd }),
  fc.record({ role: fc.constant("tool"), tool_call_id: id, content, name: odd }),
  fc.record({
    role: fc.constant("function"),
    name: word,
    content: fc.oneof(word, fc.constant(null)),
  }),
  fc.record(
    {
      role: fc.constant("assistant"),
      content: fc.oneof(content, fc.constant(null)),
      tool_calls: fc.oneof(fc.array(call, { maxLength: 3 }), fc.constant(null)),
      function_call: called,
      audio: odd,
      reasoning_content: odd,
      reasoning: odd,
      reasoning_details: fc.oneof(odd, list),
      reasoning_opaque: odd,
    },
    { requiredKeys: ["role"] },
  ),
);
const choice = fc.oneof(
  fc.constantFrom("auto", "none", "required"),
  declared.map((described) => ({ type: "function", function: described })),
  declared.map((described) => ({ type: "custom", custom: described })),
  fc.record({
    type: fc.constant("allowed_tools"),
    allowed_tools: fc.oneof(object, fc.record({ mode: odd, tools: fc.oneof(odd, fc.array(tool)) })),
  }),
);
const chat = fc.record(
  {
    model: fc.constant("m"),
    messages: fc.array(nearly(message), { maxLength: 6 }),
    tools: nearly(fc.array(tool, { maxLength: 3 })),
    functions: nearly(fc.array(declared, { maxLength: 2 })),
    function_call: odd,
    tool_choice: nearly(choice),
    response_format: nearly(fc.record({ type: word, json_schema: odd })),
    reasoning_effort: nearly(word),
    verbosity: nearly(word),
    stream: nearly(fc.boolean()),
    stream_options: nearly(object),
    max_tokens: nearly(fc.oneof(fc.integer(), fc.constant(null))),
    max_completion_tokens: nearly(fc.oneof(fc.integer(), fc.constant(null))),
    logprobs: nearly(fc.boolean()),
    n: nearly(fc.integer()),
    x_own: odd,
  },
  { requiredKeys: ["model", "messages"] },
);
const texts = fc.array(fc.record({ type: fc.constant("summary_text"), text: word }), {
  maxLength: 2,
});
const item = fc.oneof(
  fc.record({
    role: fc.constantFrom("user", "assistant", "system", "developer"),
    content: word,
    id: odd,
  }),
  fc.record({ type: fc.constant("reasoning"), summary: texts, encrypted_content: word, id: word }),
  fc.record({ type: fc.constant("reasoning"), summary: texts, id: word }),
  fc.record({
    type: fc.constant("function_call"),
    call_id: id,
    name: word,
    arguments: word,
    id: word,
  }),
  fc.record({ type: fc.constant("custom_tool_call"), call_id: id, name: word, input: word }),
  fc.record({ type: fc.constant("function_call_output"), call_id: id, output: word }),
  object.map((fields) => ({ ...fields, type: "novelty" })),
);
const responses = fc.record(
  {
    model: fc.constant("m"),
    input: nearly(fc.oneof(word, fc.array(nearly(item), { maxLength: 6 }))),
    instructions: nearly(word),
    tools: nearly(
      fc.array(
        declared.map((described) => ({ ...described, type: "function" })),
        { maxLength: 3 },
      ),
    ),
    tool_choice: nearly(fc.constantFrom("auto", "none", "required")),
    reasoning: nearly(fc.record({ effort: word, summary: word })),
    store: nearly(fc.boolean()),
    x_own: odd,
  },
  { requiredKeys: ["model"] },
);

const profiles: Profile[] = [
  genericProfile,
  withFlags(genericProfile, {
    schemaFlavour: "gemini",
    strictSchemas: false,
    sameRoleTwice: false,
  }),
  withFlags(genericProfile, {
    toolChoice: "auto",
    responseFormat: "none",
    callsWithoutTools: false,
  }),
  ...profileNames.flatMap((name) => profileNamed(name) ?? []),
];
const flags = {
  droppedParameters: ["reasoning.summary", "input[].id", "tools"],
  efforts: ["low"],
  refusedHistory: true,
  dropSealed: true,
  isOwnEnvelope: () => true,
};

/** Only our own error may be thrown; `undefined` if the work was done. */
function refusal(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof WireError ? undefined : error;
  }
}

const recall = () => ({ reasoning: "r", calls: { call_1: { x: 1 } } });

test("whatever can be decoded of a Chat request can be asked of every upstream", () => {
  let decoded = 0;
  fc.assert(
    fc.property(chat, fc.constantFrom(...profiles), (value, profile) => {
      const thrown = refusal(() => {
        const request = decodeChatRequest(value);
        decoded += 1;
        estimateRequestTokens(mendedChatRequest(request, { profile, recall }).body);
        estimateRequestTokens(responsesRequest(request, flags).body);
      });
      expect(thrown).toBeUndefined();
    }),
    runs(3000),
  );
  expect(decoded).toBeGreaterThan(1500);
});

test("whatever can be decoded of a Responses request can be asked of every upstream", () => {
  let decoded = 0;
  fc.assert(
    fc.property(responses, fc.constantFrom(...profiles), (value, profile) => {
      const thrown = refusal(() => {
        const request = decodeResponsesRequest(value);
        decoded += 1;
        estimateRequestTokens(mendedResponsesRequest(request, flags).body);
        estimateRequestTokens(chatRequest(request, { profile, recall }).body);
      });
      expect(thrown).toBeUndefined();
    }),
    runs(3000),
  );
  expect(decoded).toBeGreaterThan(300);
});
