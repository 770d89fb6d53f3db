import {
  translateResponsesRequest,
  decodeChatRequest,
  decodeResponsesRequest,
  estimateRequestTokens,
  genericProfile,
  repairChatRequest,
  repairResponsesRequest,
  findProviderProfile,
  providerProfileNames,
  translateChatRequest,
  withProfileFlags,
  WireError,
  type UpstreamProfile,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";

/* The generated requests are mostly valid. */

const word = fc.constantFrom(
  "", "auto", "none", "required", "function", "custom", "allowed_tools", "json_schema", "json_object", "text",
  "image_url", "input_audio", "file", "refusal", "reasoning", "web_search", "call_1", "call_2", "f", "f".repeat(80),
  "data:image/png;base64,AA", "{}", "{", "low", "vast",
); // prettier-ignore
/** Any value, for fields that decoding does not check. */
const anyValue = fc.oneof(word, fc.jsonValue({ maxDepth: 2 }));
const object = fc.dictionary(word, anyValue, { maxKeys: 3 });
const list = fc.array(anyValue, { maxLength: 3 });
/** Usually the value that decoding requires, sometimes another one. */
const usually = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 99, arbitrary: value }, { weight: 1, arbitrary: anyValue });

const declared = fc.record(
  {
    name: word,
    description: fc.oneof(word, fc.constant(null)),
    parameters: fc.oneof(
      fc.constant(null),
      fc.dictionary(fc.constantFrom("type", "properties", "anyOf", "$ref", "items"), anyValue),
    ),
    strict: anyValue,
    format: anyValue,
  },
  { requiredKeys: ["name"] },
);
const tool = fc.oneof(
  declared.map((declaration) => ({ type: "function", function: declaration })),
  declared.map((declaration) => ({ type: "custom", custom: declaration })),
  object.map((fields) => ({ ...fields, type: "web_search" })),
);
const id = fc.constantFrom("call_1", "call_2", "");
const functionCall = fc.record({ name: word, arguments: word, extra: anyValue });
const call = fc.oneof(
  fc.record({ id, type: anyValue.filter((type) => type !== "custom"), function: functionCall }),
  fc.record({ id, function: functionCall, extra_content: anyValue }),
  fc.record({ id, type: fc.constant("custom"), custom: fc.record({ name: word, input: word }) }),
);
const part = fc.oneof(
  fc.record({ type: fc.constant("text"), text: word }),
  fc.record({ type: fc.constant("refusal"), findUnexpectedError: word }),
  fc.record({
    type: fc.constant("image_url"),
    image_url: fc.record({ url: word, detail: anyValue }),
  }),
  fc.record({ type: fc.constant("input_audio"), input_audio: object }),
  fc.record({ type: fc.constant("file"), file: object }),
  object.map((fields) => ({ ...fields, type: "novelty" })),
);
const content = fc.oneof(word, fc.array(part, { maxLength: 3 }));
const message = fc.oneof(
  fc.record({ role: fc.constantFrom("system", "developer", "user"), content, name: anyValue }),
  fc.record({ role: fc.constant("tool"), tool_call_id: id, content, name: anyValue }),
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
      function_call: functionCall,
      audio: anyValue,
      reasoning_content: anyValue,
      reasoning: anyValue,
      reasoning_details: fc.oneof(anyValue, list),
      reasoning_opaque: anyValue,
    },
    { requiredKeys: ["role"] },
  ),
);
const choice = fc.oneof(
  fc.constantFrom("auto", "none", "required"),
  declared.map((declaration) => ({ type: "function", function: declaration })),
  declared.map((declaration) => ({ type: "custom", custom: declaration })),
  fc.record({
    type: fc.constant("allowed_tools"),
    allowed_tools: fc.oneof(
      object,
      fc.record({ mode: anyValue, tools: fc.oneof(anyValue, fc.array(tool)) }),
    ),
  }),
);
const chat = fc.record(
  {
    model: fc.constant("m"),
    messages: fc.array(usually(message), { maxLength: 6 }),
    tools: usually(fc.array(tool, { maxLength: 3 })),
    functions: usually(fc.array(declared, { maxLength: 2 })),
    function_call: anyValue,
    tool_choice: usually(choice),
    response_format: usually(fc.record({ type: word, json_schema: anyValue })),
    reasoning_effort: usually(word),
    verbosity: usually(word),
    stream: usually(fc.boolean()),
    stream_options: usually(object),
    max_tokens: usually(fc.oneof(fc.integer(), fc.constant(null))),
    max_completion_tokens: usually(fc.oneof(fc.integer(), fc.constant(null))),
    logprobs: usually(fc.boolean()),
    n: usually(fc.integer()),
    x_own: anyValue,
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
    id: anyValue,
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
    input: usually(fc.oneof(word, fc.array(usually(item), { maxLength: 6 }))),
    instructions: usually(word),
    tools: usually(
      fc.array(
        declared.map((declaration) => ({ ...declaration, type: "function" })),
        { maxLength: 3 },
      ),
    ),
    tool_choice: usually(fc.constantFrom("auto", "none", "required")),
    reasoning: usually(fc.record({ effort: word, summary: word })),
    store: usually(fc.boolean()),
    x_own: anyValue,
  },
  { requiredKeys: ["model"] },
);

const profiles: UpstreamProfile[] = [
  genericProfile,
  withProfileFlags(genericProfile, {
    schemaDialect: "gemini",
    strictSchemas: false,
    consecutiveRoles: false,
  }),
  withProfileFlags(genericProfile, {
    toolChoice: "auto",
    responseFormat: "none",
    callsWithoutTools: false,
  }),
  ...providerProfileNames.flatMap((name) => findProviderProfile(name) ?? []),
];
const flags = {
  droppedParameters: ["reasoning.summary", "input[].id", "tools"],
  efforts: ["low"],
  rejectsHistory: true,
  dropSealed: true,
  isOwnSeal: () => true,
};

/** Returns undefined on success. Only a WireError is expected. */
function findUnexpectedError(action: () => unknown): unknown {
  try {
    action();
    return undefined;
  } catch (error) {
    return error instanceof WireError ? undefined : error;
  }
}

const lookupReasoning = () => ({ reasoning: "r", calls: { call_1: { x: 1 } } });

test("every Chat request that can be decoded can be translated for every upstream", () => {
  let decoded = 0;
  fc.assert(
    fc.property(chat, fc.constantFrom(...profiles), (value, profile) => {
      const unexpected = findUnexpectedError(() => {
        const request = decodeChatRequest(value);
        decoded += 1;
        estimateRequestTokens(repairChatRequest(request, { profile, lookupReasoning }).body);
        estimateRequestTokens(translateChatRequest(request, flags).body);
      });
      expect(unexpected).toBeUndefined();
    }),
    propertyRuns(3000),
  );
  expect(decoded).toBeGreaterThan(1500);
});

test("every Responses request that can be decoded can be translated for every upstream", () => {
  let decoded = 0;
  fc.assert(
    fc.property(responses, fc.constantFrom(...profiles), (value, profile) => {
      const unexpected = findUnexpectedError(() => {
        const request = decodeResponsesRequest(value);
        decoded += 1;
        estimateRequestTokens(repairResponsesRequest(request, flags).body);
        estimateRequestTokens(
          translateResponsesRequest(request, { profile, lookupReasoning }).body,
        );
      });
      expect(unexpected).toBeUndefined();
    }),
    propertyRuns(3000),
  );
  expect(decoded).toBeGreaterThan(300);
});
