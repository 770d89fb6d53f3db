import { readdirSync, readFileSync } from "node:fs";
import {
  translateResponsesRequest,
  decodeResponsesRequest,
  genericProfile,
  findProviderProfile,
  providerProfileNames,
  providerProfiles,
  translateChatReply,
  Repairs,
  type ResponseOutputItem,
  type UpstreamProfile,
  type ProviderName,
  type ResponseObject,
  type TranslatedResponsesRequest,
  type UnsealReasoning,
} from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { upstreamRules, type RuleName } from "../check/upstream-rules.ts";
import { casesWithRule } from "./strict-rule-requests.ts";
import { arbitraryHistory, translateHistory, findTexts } from "./arbitrary-histories.ts";

interface ProviderBehaviour {
  rules: RuleName[];
  /** The field from which the provider reads earlier reasoning, and for how many turns. */
  readsReasoning?: [field: (typeof reasoningFields)[number], range: "turn" | "all"];
  /** Parameters that it accepts in addition to the common ones. */
  acceptedParameters?: string[];
  /** Parameters that it rejects with a 400. */
  rejectedParameters?: string[];
  /** Efforts that it rejects with a 400. */
  rejectedEfforts?: string[];
}

/** What each provider accepts and rejects. It is listed independently of the profile flags. */
const providers: Record<ProviderName | "generic", ProviderBehaviour> = {
  generic: { rules: ["no-reasoning-content", "known-params-only"] },
  openai: {
    rules: ["no-max-tokens", "no-reasoning-content"],
    acceptedParameters: [
      "max_completion_tokens",
      "logit_bias",
      "prompt_cache_key",
      "service_tier",
      "verbosity",
    ],
  },
  azure: { rules: ["no-max-tokens", "no-reasoning-content"] },
  anthropic: { rules: ["no-reasoning-content"] },
  deepseek: {
    rules: ["needs-reasoning-content", "no-forced-tool-choice", "no-json-schema"],
    readsReasoning: ["reasoning_content", "all"],
  },
  glm: {
    rules: ["auto-tool-choice", "no-json-schema"],
    readsReasoning: ["reasoning_content", "all"],
    rejectedParameters: ["frequency_penalty", "presence_penalty"],
    rejectedEfforts: ["medium"],
  },
  qwen: {
    rules: ["single-leading-system", "no-forced-tool-choice", "no-json-schema", "stream-only"],
    readsReasoning: ["reasoning_content", "turn"],
  },
  kimi: {
    rules: [
      "needs-reasoning-content",
      "kimi-ids",
      "moonshot-schema",
      "no-forced-tool-choice",
      "no-json-schema",
      "no-max-tokens",
      "temperature-1-only",
    ],
    readsReasoning: ["reasoning_content", "all"],
    rejectedParameters: ["temperature", "top_p", "frequency_penalty", "presence_penalty"],
    rejectedEfforts: ["none", "medium", "xhigh"],
  },
  minimax: {
    rules: [
      "single-leading-system",
      "auto-tool-choice",
      "no-response-format",
      "no-max-tokens",
      "thinks-in-tags",
    ],
    rejectedParameters: ["reasoning_effort", "seed"],
  },
  mistral: {
    rules: [
      "single-leading-system",
      "no-user-after-tool",
      "mistral-ids",
      "no-stream-options",
      "no-null-content",
      "no-reasoning-content",
    ],
    rejectedParameters: ["max_completion_tokens", "seed"],
    rejectedEfforts: ["low", "medium", "xhigh"],
  },
  groq: {
    rules: ["no-format-beside-tools", "no-reasoning-content"],
    rejectedParameters: ["logprobs", "top_logprobs", "logit_bias"],
    rejectedEfforts: ["none", "xhigh"],
  },
  xai: {
    rules: ["no-reasoning-content"],
    rejectedParameters: ["frequency_penalty", "presence_penalty", "stop"],
    rejectedEfforts: ["minimal"],
  },
  openrouter: {
    rules: ["no-reasoning-content"],
    readsReasoning: ["reasoning_details", "all"],
    acceptedParameters: ["provider", "models"],
  },
  together: { rules: ["no-reasoning-content"], rejectedEfforts: ["xhigh"] },
  fireworks: { rules: ["single-leading-system"], readsReasoning: ["reasoning_content", "turn"] },
  cerebras: {
    rules: ["no-reasoning-content", "no-max-tokens"],
    readsReasoning: ["reasoning", "turn"],
    rejectedParameters: ["frequency_penalty", "presence_penalty", "logit_bias", "service_tier"],
    rejectedEfforts: ["minimal", "xhigh"],
  },
  gemini: {
    rules: ["no-reasoning-content"],
    rejectedParameters: ["frequency_penalty", "seed", "top_k"],
    rejectedEfforts: ["none"],
  },
  vllm: {
    rules: ["single-leading-system", "no-reasoning-content"],
    readsReasoning: ["reasoning", "turn"],
  },
  sglang: { rules: ["single-leading-system"], readsReasoning: ["reasoning_content", "turn"] },
  "llama.cpp": {
    rules: ["single-leading-system", "string-tool-choice"],
    readsReasoning: ["reasoning_content", "turn"],
  },
  ollama: {
    rules: ["auto-tool-choice"],
    readsReasoning: ["reasoning", "turn"],
    rejectedEfforts: ["minimal", "xhigh"],
  },
  "lm-studio": {
    rules: ["single-leading-system", "string-tool-choice", "no-json-object"],
    readsReasoning: ["reasoning_content", "turn"],
    rejectedEfforts: ["minimal", "xhigh", "max"],
  },
};

const commonRules: RuleName[] = ["tool-adjacency", "tool-content-string", "params-required"];
/** Only OpenAI supports its own role and tools. */
const nonOpenaiRules: RuleName[] = ["no-developer-role", "function-tools-only"];

const providerCases = Object.entries(providers).map(([name, { rules, ...rest }]) => ({
  name,
  profile: getProfile(name),
  rules: [...commonRules, ...(name === "openai" ? [] : nonOpenaiRules), ...rules],
  ...rest,
}));

describe.each(providerCases)(
  "$name",
  ({
    profile,
    rules,
    readsReasoning,
    acceptedParameters = [],
    rejectedParameters = [],
    rejectedEfforts = [],
  }) => {
    test.each(rules)("gets no request that violates %s", (rule) => {
      const cases = casesWithRule.filter((entry) => entry.rule === rule);
      expect(cases).not.toEqual([]);
      for (const { request, title } of cases)
        expect(upstreamRules[rule](translate(request, profile).body), title).toBeUndefined();
    });

    test("gets every history in a valid order without losing text", () => {
      const historyRules = rules.filter((rule) => messageRules.has(rule));
      fc.assert(
        fc.property(arbitraryHistory, (input) => {
          const request = translateHistory(input, profile);
          for (const rule of historyRules) expect(upstreamRules[rule](request)).toBeUndefined();
          expect(findTexts(request.messages)).toEqual(findTexts(input));
        }),
        propertyRuns(100),
      );
    });

    test("can call tools of every kind, which are mapped back to the client's tools", () => {
      const offered = translate({ input: "hi", tools: allTools }, profile);
      const response = answerWithCalls(offered, profile);
      expect(response.output.map(describeItem)).toEqual(expectedItems);

      const nextRequest = translate({ input: [...response.output], tools: allTools }, profile);
      expect(upstreamRules["tool-adjacency"](nextRequest.body)).toBeUndefined();
      expect(getCalledNames(nextRequest)).toEqual(getOfferedNames(offered));
    });

    test("gets earlier reasoning only in the field that it reads", () => {
      const [field, range] = readsReasoning ?? [];
      const { body } = translate({ input: twoTurns }, profile, () => ({
        details: [reasoningDetail],
      }));
      const fields = body.messages
        .filter((message) => message["tool_calls"] !== undefined)
        .map((message) => reasoningFields.filter((name) => Boolean(message[name])));
      const expectedFields = field === undefined ? [] : [field];
      expect(fields).toEqual([range === "all" ? expectedFields : [], expectedFields]);
    });

    test("gets supported parameters and efforts, and no others", () => {
      const { body } = translate(allParameters, profile);
      const commonParameters = ["temperature", "top_p", "stop"].filter(
        (name) => !rejectedParameters.includes(name),
      );
      expect(Object.keys(body)).toEqual(
        expect.arrayContaining([...commonParameters, ...acceptedParameters]),
      );
      expect(rejectedParameters.filter((name) => name in body)).toEqual([]);
      for (const effort of rejectedEfforts) {
        const reasoningBody = translate({ input: "hi", reasoning: { effort } }, profile).body;
        expect(reasoningBody.reasoning_effort).toBeTypeOf("string");
        expect(reasoningBody.reasoning_effort).not.toBe(effort);
      }
    });
  },
);

test("OpenAI gets its own tools and text format unchanged", () => {
  const { body } = translate({ input: "hi", tools: allTools }, getProfile("openai"));
  expect(body.tools?.filter(({ type }) => type === "custom")).toHaveLength(2);
  expect(getProfile("openai").thinkTags).toBe(false);
});

describe("a profile's name", () => {
  test("may be spelled in common ways", () => {
    const spellings = {
      OpenAI: "openai",
      "Azure OpenAI": "azure",
      "Z.ai": "glm",
      zai: "glm",
      Moonshot: "kimi",
      DashScope: "qwen",
      Grok: "xai",
      llamacpp: "llama.cpp",
      "LM Studio": "lm-studio",
      lm_studio: "lm-studio",
      LMStudio: "lm-studio",
      " Generic ": "generic",
      default: "generic",
    };
    for (const [alias, name] of Object.entries(spellings))
      expect(findProviderProfile(alias)?.name, alias).toBe(name);
  });

  test("that is unknown has no profile", () => {
    for (const name of providerProfileNames) expect(findProviderProfile(name)?.name).toBe(name);
    for (const name of ["", "nobody", "__proto__", "constructor", "toString"])
      expect(findProviderProfile(name)).toBeUndefined();
    expect(providerProfileNames.toSorted()).toEqual(Object.keys(providers).toSorted());
  });

  test("selects a profile that lists only its differences from the generic one", () => {
    for (const [name, flags] of Object.entries(providerProfiles)) {
      const profile = getProfile(name);
      expect(Object.keys(profile).toSorted()).toEqual(Object.keys(genericProfile).toSorted());
      expect(JSON.parse(JSON.stringify(profile))).toEqual(profile);
      for (const [flag, value] of Object.entries(flags))
        expect(value, `${name}.${flag}`).not.toEqual(genericProfile[flag as keyof UpstreamProfile]);
    }
  });
});

test("every value of a flag is used by a provider or occurs in a test", () => {
  const all = providerProfileNames.map(getProfile);
  const tests = readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith(".test.ts") && !import.meta.filename.endsWith(file))
    .map((file) => readFileSync(`${import.meta.dirname}/${file}`, "utf8"))
    .join("\n");
  const unused = Object.entries(flagValues).flatMap(([flag, values]) =>
    Object.keys(values).filter(
      (value) =>
        !all.some((profile) => String(profile[flag as ChoiceFlag]) === value) &&
        !new RegExp(`\\b${flag}: "?${value}\\b`).test(tests),
    ),
  );
  expect(unused).toEqual([]);
});

describe("docs/reference/profiles.md", () => {
  const page = readFileSync(
    new URL("../../../docs/reference/profiles.md", import.meta.url),
    "utf8",
  );
  const rows = page.split("\n").filter((line) => line.startsWith("| `"));

  test.each(Object.entries(providerProfiles))(
    "documents exactly the flags of %s",
    (name, flags) => {
      const row = rows.find((line) => line.startsWith(`| \`${name}\` `)) ?? "";
      const flagColumn = row.split("|")[2] ?? "";
      const flagNames = [...flagColumn.matchAll(/`([a-zA-Z]+)`/g)].map(([, flag = ""]) => flag);
      expect(flagNames.toSorted()).toEqual(Object.keys(flags).toSorted());
    },
  );

  test("documents every flag and every value", () => {
    const flags = Object.keys(genericProfile).filter(
      (flag) => flag !== "name" && flag !== "explicitFlags",
    );
    for (const flag of flags) expect(page).toMatch(new RegExp(`^\\| \`${flag}\` `, "m"));
    for (const [flag, values] of Object.entries(flagValues)) {
      const row = rows.find((line) => line.startsWith(`| \`${flag}\` `)) ?? "";
      for (const value of Object.keys(values)) expect(row, flag).toContain(`\`${value}\``);
    }
  });
});

type ChoiceFlag = {
  [F in keyof UpstreamProfile]: UpstreamProfile[F] extends boolean
    ? F
    : string extends UpstreamProfile[F]
      ? never
      : UpstreamProfile[F] extends string
        ? F
        : never;
}[keyof UpstreamProfile];

/** The compiler requires each flag and each of its values. */
const flagValues: { [F in ChoiceFlag]: Record<`${UpstreamProfile[F]}`, true> } = {
  chatRequests: { "as-sent": true, adapted: true },
  developerRole: { developer: true, system: true },
  lateSystemMessages: { keep: true, hoist: true, user: true },
  userAfterTool: { true: true, false: true },
  consecutiveRoles: { true: true, false: true },
  emptyContent: { null: true, empty: true, omit: true },
  toolResultMedia: { parts: true, "user-message": true },
  reasoningField: {
    none: true,
    reasoning_content: true,
    reasoning: true,
    reasoning_details: true,
    "think-tags": true,
  },
  reasoningRange: { turn: true, all: true },
  reasoningRequired: { true: true, false: true },
  callIds: { verbatim: true, "nine-alphanumerics": true, "functions-name-index": true },
  customTools: { native: true, function: true },
  schemaDialect: { "json-schema": true, moonshot: true, gemini: true },
  strictSchemas: { true: true, false: true },
  cacheControl: { true: true, false: true },
  callsWithoutTools: { true: true, false: true },
  toolChoice: { any: true, strings: true, unforced: true, auto: true },
  responseFormat: {
    any: true,
    "without-tools": true,
    json_object: true,
    json_schema: true,
    none: true,
  },
  alwaysStream: { true: true, false: true },
  streamUsage: { true: true, false: true },
  maxTokensParameter: { max_tokens: true, max_completion_tokens: true },
  thinkTags: { true: true, false: true },
  startsInsideThink: { true: true, false: true },
};

/** Rules about messages only, not about tools or images. */
const messageRules = new Set<RuleName>([
  "no-developer-role",
  "tool-adjacency",
  "single-leading-system",
  "needs-reasoning-content",
  "mistral-ids",
  "kimi-ids",
  "no-user-after-tool",
  "no-null-content",
  "no-reasoning-content",
]);

const allParameters = {
  input: "hi",
  temperature: 0.5,
  top_p: 0.9,
  frequency_penalty: 0.1,
  presence_penalty: 0.1,
  seed: 1,
  stop: ["end"],
  top_logprobs: 3,
  logit_bias: { 1: 1 },
  top_k: 40,
  max_output_tokens: 100,
  reasoning: { effort: "high" },
  service_tier: "flex",
  parallel_tool_calls: false,
  prompt_cache_key: "k",
  text: { verbosity: "low" },
  provider: { only: ["a"] },
  models: ["m", "n"],
};

const reasoningFields = ["reasoning", "reasoning_content", "reasoning_details"] as const;
const reasoningDetail = { type: "reasoning.text", text: "hm", signature: "s" };
const reasoningItem = {
  type: "reasoning",
  summary: [{ type: "summary_text", text: "hm" }],
  encrypted_content: "sealed",
};
const twoTurns = [
  { role: "user", content: "look" },
  reasoningItem,
  { type: "function_call", call_id: "call_aaa", name: "look", arguments: "{}" },
  { type: "function_call_output", call_id: "call_aaa", output: "A" },
  { role: "user", content: "again" },
  reasoningItem,
  { type: "function_call", call_id: "call_bbb", name: "look", arguments: "{}" },
  { type: "function_call_output", call_id: "call_bbb", output: "B" },
];

const allTools = [
  { type: "function", name: "look", parameters: { type: "object", properties: {} } },
  { type: "custom", name: "draw", format: { type: "grammar", syntax: "lark", definition: "x" } },
  {
    type: "namespace",
    name: "mcp__docs",
    tools: [
      { type: "function", name: "find" },
      { type: "custom", name: "note" },
    ],
  },
  { type: "tool_search", execution: "client" },
  { type: "local_shell" },
  { type: "shell" },
  { type: "apply_patch" },
];

const expectedItems = [
  "function_call look",
  "custom_tool_call draw",
  "function_call mcp__docs find",
  "custom_tool_call mcp__docs note",
  "tool_search_call",
  "local_shell_call",
  "shell_call",
  "apply_patch_call",
];

function getProfile(name: string): UpstreamProfile {
  const profile = findProviderProfile(name);
  if (profile === undefined) throw new Error(`no profile ${name}`);
  return profile;
}

function translate(
  request: object,
  profile: UpstreamProfile,
  unseal?: UnsealReasoning,
): TranslatedResponsesRequest {
  const decoded = decodeResponsesRequest({ model: "m", ...structuredClone(request) });
  return translateResponsesRequest(decoded, { profile, unseal });
}

/** Returns the translated reply of an upstream that calls every offered tool. */
function answerWithCalls(
  { body, tools }: TranslatedResponsesRequest,
  profile: UpstreamProfile,
): ResponseObject {
  const calls = (body.tools ?? []).map((tool, index) => {
    const id = `call_of_tool_${index}`;
    if (tool.type === "custom")
      return { id, type: "custom", custom: { name: tool.custom.name, input: "x" } };
    return { id, type: "function", function: { name: tool.function.name, arguments: "{}" } };
  });
  const message = { role: "assistant", content: null, tool_calls: calls };
  const reply = { id: "c", choices: [{ index: 0, message, finish_reason: "tool_calls" }] };
  let count = 0;
  return translateChatReply(reply, {
    responseId: "resp_1",
    newId: (prefix) => `${prefix}_${(count += 1)}`,
    createdAt: 1,
    repairs: new Repairs(),
    tools,
    profile,
  }).response;
}

function describeItem(item: ResponseOutputItem): string {
  const { type, namespace, name } = item as { type: string; namespace?: string; name?: string };
  return [type, namespace, name].filter(Boolean).join(" ");
}

function getOfferedNames({ body }: TranslatedResponsesRequest): string[] {
  return (body.tools ?? []).map((tool) =>
    tool.type === "custom" ? tool.custom.name : tool.function.name,
  );
}

function getCalledNames({ body }: TranslatedResponsesRequest): string[] {
  return body.messages
    .flatMap((message) => (message.role === "assistant" ? (message.tool_calls ?? []) : []))
    .map((call) => (call.type === "custom" ? call.custom.name : call.function.name));
}
