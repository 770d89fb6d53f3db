import { isAsSent, type JsonObject, type Profile } from "@deltawire/wire";
import type { Change, KnownRefusal, Tried } from "./lesson.ts";
import { isAboutAskedThinking, onceIf } from "./own-content.ts";
import { choosesWell, objectsIn, offersCustomTools, offersTools } from "./sent.ts";

/** What Chat upstreams have against tools and the choice of them, in their words, and where these were seen. */
export const toolRefusals: readonly KnownRefusal[] = [
  // Every Chat server but OpenAI, where a profile says otherwise
  {
    lesson: "custom_tools",
    says: [/["'`]custom["'`]/i, /tools[[\].\d]*\.type/i],
    what: "knows functions only: custom tools become functions with one text",
    // What was sent counts: a Chat client's own tools go out as they are until something is known of the upstream.
    change: ({ profile, body }, { text }) =>
      offersCustomTools(body) &&
      !isAboutAnotherTool(text, body) &&
      (isAsSent(profile, "customTools") || profile.customTools === "native")
        ? { flags: { customTools: "function" } }
        : undefined,
  },

  // Kimi's gateways (GitNexus 2703, opencode 24158, kimi-cli 2061)
  {
    lesson: "tool_schema",
    says: [/moonshot flavou?red json schema/i],
    what: "has a dialect of JSON Schema: the tools' parameters are written in it",
    change: ({ profile, body }) =>
      offersTools(body) && profile.schemaFlavour !== "moonshot"
        ? { flags: { schemaFlavour: "moonshot" } }
        : undefined,
  },

  // Google (CLIProxyAPI 97, cline 7339, opencode 11889), whose schemas are another language
  {
    lesson: "tool_schema",
    says: [
      /unknown name "[^"]+" at '[^']*(?:function_?declarations|parameters)/i,
      /function_?declarations?\[\d+\]\.parameters[^\n]{0,200}(?:missing field|only allowed for|non-empty|not supported|cannot be empty)/i,
      /invalid value at '[^']*function_?declarations/i,
      /function_?declaration\b[^\n]{0,120}(?:schema|any_of)/i,
    ],
    what: "knows few keywords of JSON Schema: the tools' parameters are written with these",
    as500: true,
    change: withFewKeywords,
  },

  // OpenAI (langchainjs 9804), Claude (mobile-mcp 344), llama.cpp 17574: of one tool's schema, while all others may stay
  {
    lesson: "tool_schema",
    says: [
      /invalid schema for function[^\n]{0,200}(?:not permitted|not supported|top level)/i,
      /input_schema does not support/i,
      /JSON schema conversion failed/i,
      /failed to parse grammar/i,
    ],
    what: "does not take a schema of these tools: their parameters are written with few keywords",
    as500: true,
    change: (tried) => {
      const change = withFewKeywords(tried);
      return change && { ...change, once: true };
    },
  },

  // Z.ai (hindsight 4246)
  {
    lesson: "tool_choice",
    says: [
      /tool.?choice[^.\n]{0,60}(?:must be|only supports?|should be|has to be|only) ["'`]?auto["'`]?\s*(?:$|[.,;\n](?! ?["'`]?(?:none|required)))/im,
    ],
    what: "takes no tool_choice but auto: what is asked for is said in words",
    change: (tried) => choiceAt(tried, "auto"),
  },

  // LM Studio (lmstudio-bug-tracker 670)
  {
    lesson: "tool_choice",
    says: [
      /tool.?choice[^\n]{0,40}type: ["'`]?object[^\n]{0,60}required/i,
      /tool.?choice[^\n]{0,60}(?:must be|should be|expected) a string/i,
      /tool.?choice[^\n]{0,40}input should be a valid string/i,
    ],
    what: "takes no named tool as tool_choice: it is offered alone",
    change: (tried) =>
      typeof tried.body["tool_choice"] === "string" ? undefined : choiceAt(tried, "strings"),
  },

  // DeepSeek (DeepSeek-V3 1376), DashScope (eino 994), Kimi (AstrBot 7805, oh-my-pi 827), Cerebras (instructor 1766), OpenRouter
  {
    lesson: "tool_choice",
    says: [
      /does(?: not|n't) support[^\n]{0,60}tool.?choice/i,
      /tool.?choice[^\n]{0,80}(?:incompatible|does(?: not|n't) support|not (?:currently )?supported|unsupported)/i,
      /(?:unsupported|invalid)(?: value for)? ["'`]?tool.?choice[^\n]{0,120}(?:expected|supported|must be)/i,
      /support the provided ["'`]?tool_choice/i,
      /tool.?choice[^\n]{0,60}(?:may|can|must) only be/i,
    ],
    what: "cannot be forced to call a tool: what is asked for is said in words",
    change: (tried, { text }) => {
      const change = choiceAt(tried, "unforced") ?? choiceAt(tried, "auto");
      return change && { ...change, ...onceIf(isAboutAskedThinking(text, tried.body)) };
    },
  },
];

/** Of a tool of another type, where custom is among those that are known, or of what stands in a custom tool. */
function isAboutAnotherTool(text: string, body: JsonObject): boolean {
  const [, at] = /\btools(?:\.|\[)(\d+)\]?\.type\b/.exec(text) ?? [];
  const pointed = at === undefined ? undefined : objectsIn(body["tools"])[Number(at)];
  if (pointed !== undefined) return pointed["type"] !== "custom";
  return /(?:supported values|expected|should be|must be|one of)\b[^\n]{0,120}["'`]custom["'`]|\bgrammar\b|custom\.(?:format|name)|\.format\b/i.test(
    text,
  );
}

function withFewKeywords({ profile, body }: Tried): Change | undefined {
  return offersTools(body) && profile.schemaFlavour === "json-schema"
    ? { flags: { schemaFlavour: "gemini" } }
    : undefined;
}

const choiceSteps = ["any", "strings", "unforced", "auto"] as const;

/** A step further down, where what was sent is what the present step lets through. */
function choiceAt({ profile, body }: Tried, step: Profile["toolChoice"]): Change | undefined {
  const sent = body["tool_choice"];
  if (sent === undefined || sent === null || !offersTools(body)) return undefined;
  if (!choosesWell(body)) return undefined;
  if (choiceSteps.indexOf(step) <= choiceSteps.indexOf(profile.toolChoice)) return undefined;
  const helps = step === "auto" ? sent !== "auto" : sent !== "auto" && sent !== "none";
  return helps ? { flags: { toolChoice: step } } : undefined;
}
