import { readdirSync, readFileSync } from "node:fs";
import {
  chatRequest,
  decodeResponsesRequest,
  genericProfile,
  profileNamed,
  profileNames,
  profiles,
  responseOfChat,
  Repairs,
  type OutputItem,
  type Profile,
  type ProviderName,
  type ResponseObject,
  type TranslatedRequest,
  type Unseal,
} from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";
import { upstreamRules, type RuleName } from "../check/upstream-rules.ts";
import { ruledCases } from "./demanding-requests.ts";
import { history, send, words } from "./histories.ts";

interface Known {
  rules: RuleName[];
  /** Where it reads an assistant's earlier thinking, and how far back. */
  reads?: [field: (typeof thinkingFields)[number], range: "turn" | "all"];
  /** Parameters that it takes, beyond those that everyone takes. */
  takes?: string[];
  /** Parameters that it answers with a 400. */
  refuses?: string[];
  /** Efforts that it answers with a 400. */
  refusesEfforts?: string[];
}

/** What each provider is known to refuse, told apart from the flags that are to prevent it. */
const known: Record<ProviderName | "generic", Known> = {
  generic: { rules: ["no-reasoning-content", "known-params-only"] },
  openai: {
    rules: ["no-max-tokens", "no-reasoning-content"],
    takes: ["max_completion_tokens", "logit_bias", "prompt_cache_key", "service_tier", "verbosity"],
  },
  azure: { rules: ["no-max-tokens", "no-reasoning-content"] },
  deepseek: {
    rules: ["needs-reasoning-content", "no-forced-tool-choice", "no-json-schema"],
    reads: ["reasoning_content", "all"],
  },
  glm: {
    rules: ["auto-tool-choice", "no-json-schema"],
    reads: ["reasoning_content", "all"],
    refuses: ["frequency_penalty", "presence_penalty"],
    refusesEfforts: ["medium"],
  },
  qwen: {
    rules: ["single-leading-system", "no-forced-tool-choice", "no-json-schema", "stream-only"],
    reads: ["reasoning_content", "turn"],
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
    reads: ["reasoning_content", "all"],
    refuses: ["temperature", "top_p", "frequency_penalty", "presence_penalty"],
    refusesEfforts: ["none", "medium", "xhigh"],
  },
  minimax: {
    rules: [
      "single-leading-system",
      "auto-tool-choice",
      "no-response-format",
      "no-max-tokens",
      "thinks-in-tags",
    ],
    refuses: ["reasoning_effort", "seed"],
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
    refuses: ["max_completion_tokens", "seed"],
    refusesEfforts: ["low", "medium", "xhigh"],
  },
  groq: {
    rules: ["no-format-beside-tools", "no-reasoning-content"],
    refuses: ["logprobs", "top_logprobs", "logit_bias"],
    refusesEfforts: ["none", "xhigh"],
  },
  xai: {
    rules: ["no-reasoning-content"],
    refuses: ["frequency_penalty", "presence_penalty", "stop"],
    refusesEfforts: ["minimal"],
  },
  openrouter: {
    rules: ["no-reasoning-content"],
    reads: ["reasoning_details", "all"],
    takes: ["provider", "models"],
  },
  together: { rules: ["no-reasoning-content"], refusesEfforts: ["xhigh"] },
  fireworks: { rules: ["single-leading-system"], reads: ["reasoning_content", "turn"] },
  cerebras: {
    rules: ["no-reasoning-content", "no-max-tokens"],
    reads: ["reasoning", "turn"],
    refuses: ["frequency_penalty", "presence_penalty", "logit_bias", "service_tier"],
    refusesEfforts: ["minimal", "xhigh"],
  },
  gemini: {
    rules: ["no-reasoning-content"],
    refuses: ["frequency_penalty", "seed", "top_k"],
    refusesEfforts: ["none"],
  },
  vllm: {
    rules: ["single-leading-system", "no-reasoning-content"],
    reads: ["reasoning", "turn"],
  },
  sglang: { rules: ["single-leading-system"], reads: ["reasoning_content", "turn"] },
  "llama.cpp": {
    rules: ["single-leading-system", "string-tool-choice"],
    reads: ["reasoning_content", "turn"],
  },
  ollama: {
    rules: ["auto-tool-choice"],
    reads: ["reasoning", "turn"],
    refusesEfforts: ["minimal", "xhigh"],
  },
  "lm-studio": {
    rules: ["single-leading-system", "string-tool-choice", "no-json-object"],
    reads: ["reasoning_content", "turn"],
    refusesEfforts: ["minimal", "xhigh", "max"],
  },
};

const everyone: RuleName[] = ["tool-adjacency", "tool-content-string", "params-required"];
/** Only OpenAI itself takes the role and the tools that it invented. */
const allButOpenai: RuleName[] = ["no-developer-role", "function-tools-only"];

const named = Object.entries(known).map(([name, { rules, ...rest }]) => ({
  name,
  profile: profileOf(name),
  rules: [...everyone, ...(name === "openai" ? [] : allButOpenai), ...rules],
  ...rest,
}));

describe.each(named)("$name", ({ profile, rules, reads, takes = [], ...refused }) => {
  test.each(rules)("gets nothing that %s forbids, whatever is asked", (rule) => {
    const cases = ruledCases.filter((one) => one.rule === rule);
    expect(cases).not.toEqual([]);
    for (const { request, title } of cases)
      expect(upstreamRules[rule](translate(request, profile).body), title).toBeUndefined();
  });

  test("gets every history in order, with no word lost", () => {
    const ofHistories = rules.filter((rule) => messageRules.has(rule));
    fc.assert(
      fc.property(history, (input) => {
        const sent = send(input, profile);
        for (const rule of ofHistories) expect(upstreamRules[rule](sent)).toBeUndefined();
        expect(words(sent.messages)).toEqual(words(input));
      }),
      runs(100),
    );
  });

  test("has its tools of every kind called back in the form in which they were declared", () => {
    const offered = translate({ input: "hi", tools: everyKind }, profile);
    const response = answerWithCalls(offered, profile);
    expect(response.output.map(declaredForm)).toEqual(everyForm);

    const later = translate({ input: [...response.output], tools: everyKind }, profile);
    expect(upstreamRules["tool-adjacency"](later.body)).toBeUndefined();
    expect(calledNames(later)).toEqual(offeredNames(offered));
  });

  test("gets its thinking back where it reads it, and nowhere else", () => {
    const [field, range] = reads ?? [];
    const { body } = translate({ input: twoTurns }, profile, () => ({ details: [thought] }));
    const fields = body.messages
      .filter((message) => message["tool_calls"] !== undefined)
      .map((message) => thinkingFields.filter((one) => Boolean(message[one])));
    const wanted = field === undefined ? [] : [field];
    expect(fields).toEqual([range === "all" ? wanted : [], wanted]);
  });

  test("gets the parameters that it takes, and no parameter and no effort that it refuses", () => {
    const { refuses = [], refusesEfforts = [] } = refused;
    const { body } = translate(everything, profile);
    const usual = ["temperature", "top_p", "stop"].filter((name) => !refuses.includes(name));
    expect(Object.keys(body)).toEqual(expect.arrayContaining([...usual, ...takes]));
    expect(refuses.filter((name) => name in body)).toEqual([]);
    for (const effort of refusesEfforts) {
      const asked = translate({ input: "hi", reasoning: { effort } }, profile).body;
      expect(asked.reasoning_effort).toBeTypeOf("string");
      expect(asked.reasoning_effort).not.toBe(effort);
    }
  });
});

test("OpenAI gets its own tools as they are, and its text as it is", () => {
  const { body } = translate({ input: "hi", tools: everyKind }, profileOf("openai"));
  expect(body.tools?.filter(({ type }) => type === "custom")).toHaveLength(2);
  expect(profileOf("openai").thinkTags).toBe(false);
});

describe("a profile's name", () => {
  test("may be written as people write it", () => {
    const written = {
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
    for (const [alias, name] of Object.entries(written))
      expect(profileNamed(alias)?.name, alias).toBe(name);
  });

  test("is known, or there is no profile", () => {
    for (const name of profileNames) expect(profileNamed(name)?.name).toBe(name);
    for (const name of ["", "nobody", "__proto__", "constructor", "toString"])
      expect(profileNamed(name)).toBeUndefined();
    expect(profileNames.toSorted()).toEqual(Object.keys(known).toSorted());
  });

  test("gives flags that are data: all of them, and only what differs is written down", () => {
    for (const [name, flags] of Object.entries(profiles)) {
      const profile = profileOf(name);
      expect(Object.keys(profile).toSorted()).toEqual(Object.keys(genericProfile).toSorted());
      expect(JSON.parse(JSON.stringify(profile))).toEqual(profile);
      for (const [flag, value] of Object.entries(flags))
        expect(value, `${name}.${flag}`).not.toEqual(genericProfile[flag as keyof Profile]);
    }
  });
});

test("every value that a flag can have is some provider's, or has a test of its own", () => {
  const all = profileNames.map(profileOf);
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

describe("docs/profiles.md", () => {
  const page = readFileSync(new URL("../../../docs/profiles.md", import.meta.url), "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("| `"));

  test.each(Object.entries(profiles))(
    "says in what %s differs, and in nothing else",
    (name, flags) => {
      const row = rows.find((line) => line.startsWith(`| \`${name}\` `)) ?? "";
      const differing = row.split("|")[2] ?? "";
      const flagNames = [...differing.matchAll(/`([a-zA-Z]+)`/g)].map(([, flag = ""]) => flag);
      expect(flagNames.toSorted()).toEqual(Object.keys(flags).toSorted());
    },
  );

  test("explains every flag and every value", () => {
    const flags = Object.keys(genericProfile).filter(
      (flag) => flag !== "name" && flag !== "stated",
    );
    for (const flag of flags) expect(page).toMatch(new RegExp(`^\\| \`${flag}\` `, "m"));
    for (const [flag, values] of Object.entries(flagValues)) {
      const row = rows.find((line) => line.startsWith(`| \`${flag}\` `)) ?? "";
      for (const value of Object.keys(values)) expect(row, flag).toContain(`\`${value}\``);
    }
  });
});

type ChoiceFlag = {
  [F in keyof Profile]: Profile[F] extends boolean
    ? F
    : string extends Profile[F]
      ? never
      : Profile[F] extends string
        ? F
        : never;
}[keyof Profile];

/** The compiler asks for each flag and each value of it. */
const flagValues: { [F in ChoiceFlag]: Record<`${Profile[F]}`, true> } = {
  chatRequests: { "as-sent": true, adapted: true },
  developerRole: { developer: true, system: true },
  laterSystem: { keep: true, hoist: true, user: true },
  userAfterTool: { true: true, false: true },
  sameRoleTwice: { true: true, false: true },
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
  schemaFlavour: { "json-schema": true, moonshot: true, gemini: true },
  strictSchemas: { true: true, false: true },
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

/** Rules that look at messages only, and hold without tools or pictures. */
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

const everything = {
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

const thinkingFields = ["reasoning", "reasoning_content", "reasoning_details"] as const;
const thought = { type: "reasoning.text", text: "hm", signature: "s" };
const thinking = {
  type: "reasoning",
  summary: [{ type: "summary_text", text: "hm" }],
  encrypted_content: "sealed",
};
const twoTurns = [
  { role: "user", content: "look" },
  thinking,
  { type: "function_call", call_id: "call_aaa", name: "look", arguments: "{}" },
  { type: "function_call_output", call_id: "call_aaa", output: "A" },
  { role: "user", content: "again" },
  thinking,
  { type: "function_call", call_id: "call_bbb", name: "look", arguments: "{}" },
  { type: "function_call_output", call_id: "call_bbb", output: "B" },
];

const everyKind = [
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

const everyForm = [
  "function_call look",
  "custom_tool_call draw",
  "function_call mcp__docs find",
  "custom_tool_call mcp__docs note",
  "tool_search_call",
  "local_shell_call",
  "shell_call",
  "apply_patch_call",
];

function profileOf(name: string): Profile {
  const profile = profileNamed(name);
  if (profile === undefined) throw new Error(`no profile ${name}`);
  return profile;
}

function translate(request: object, profile: Profile, unseal?: Unseal): TranslatedRequest {
  const decoded = decodeResponsesRequest({ model: "m", ...structuredClone(request) });
  return chatRequest(decoded, { profile, unseal });
}

/** A reply that calls every tool that was offered. */
function answerWithCalls({ body, tools }: TranslatedRequest, profile: Profile): ResponseObject {
  const calls = (body.tools ?? []).map((tool, index) => {
    const id = `call_of_tool_${index}`;
    if (tool.type === "custom")
      return { id, type: "custom", custom: { name: tool.custom.name, input: "x" } };
    return { id, type: "function", function: { name: tool.function.name, arguments: "{}" } };
  });
  const message = { role: "assistant", content: null, tool_calls: calls };
  const reply = { id: "c", choices: [{ index: 0, message, finish_reason: "tool_calls" }] };
  let count = 0;
  return responseOfChat(reply, {
    responseId: "resp_1",
    newId: (prefix) => `${prefix}_${(count += 1)}`,
    createdAt: 1,
    repairs: new Repairs(),
    tools,
    profile,
  }).response;
}

function declaredForm(item: OutputItem): string {
  const { type, namespace, name } = item as { type: string; namespace?: string; name?: string };
  return [type, namespace, name].filter(Boolean).join(" ");
}

function offeredNames({ body }: TranslatedRequest): string[] {
  return (body.tools ?? []).map((tool) =>
    tool.type === "custom" ? tool.custom.name : tool.function.name,
  );
}

function calledNames({ body }: TranslatedRequest): string[] {
  return body.messages
    .flatMap((message) => (message.role === "assistant" ? (message.tool_calls ?? []) : []))
    .map((call) => (call.type === "custom" ? call.custom.name : call.function.name));
}
