import { isAsSent, type Profile } from "@deltawire/wire";
import type { KnownRefusal } from "./lesson.ts";
import { onceIf } from "./own-content.ts";
import {
  emptyContentIn,
  hasCalls,
  hasLaterSystem,
  hasPartsInResults,
  hasRole,
  hasRoleTwice,
  hasStrayResult,
  hasUnknownRole,
  hasUserAfterTool,
  offersTools,
  saysNothingElsewhere,
} from "./sent.ts";

/** What Chat upstreams have against a history, in their words, and where these were seen. */
export const historyRefusals: readonly KnownRefusal[] = [
  // DeepSeek (pi 1048, 7603), DashScope (pi 5117), Z.ai (PI-Desktop 30), new-api 5330, a template (halogen-flash-server 32)
  {
    lesson: "developer_role",
    says: [
      /unknown (?:variant|role):? ["'`]?developer/i,
      /(?:invalid|unsupported|unexpected|unrecognized)[^.\n]{0,20} role[^.\n]{0,20}developer/i,
      /developer["'`]? is not one of/i,
      /does not support ["'`]?developer/i,
      /\brole\b[\s\S]{0,80}(?:input should be|must be one of|expected one of)[^\n]{0,40}system/i,
      /Incorrect role information/i,
      /Unexpected message role/i,
    ],
    what: "refuses the role developer: it is said as system",
    as500: true,
    change: ({ profile, body }) =>
      hasRole(body, "developer") && !hasUnknownRole(body) && profile.developerRole === "developer"
        ? { flags: { developerRole: "system" } }
        : undefined,
  },

  // Qwen on vLLM and llama.cpp (llama.cpp 20733, ollama 18241, litellm 26879), Mistral, MiniMax error 2013 (MiniMax-M2 51)
  {
    lesson: "system_first",
    says: [
      /system (?:message|prompt|role)s?[^.\n]{0,40}must (?:be|come|appear)[^.\n]{0,30}(?:first|beginning|start)/i,
      /(?:only one|a single|multiple|more than one)[^.\n]{0,20} system (?:message|prompt)/i,
      /unexpected role ["'`]?system/i,
      /invalid message role: system/i,
      /invalid chat setting/i,
      /initial optional system message/i,
    ],
    what: "takes one system message, in front: later ones are moved there",
    as500: true,
    change: ({ profile, body }) =>
      hasLaterSystem(body) && profile.laterSystem === "keep"
        ? { flags: { laterSystem: "hoist" } }
        : undefined,
  },

  // Mistral, error 3230 (litellm 17761, mistral-common 169, onyx 6458)
  {
    lesson: "user_after_tool",
    says: [/unexpected role ["'`]?user["'`]? after role ["'`]?tool/i],
    what: "refuses the user directly after a result: the assistant gets a word between",
    change: ({ profile, body }) =>
      hasUserAfterTool(body) && profile.userAfterTool
        ? { flags: { userAfterTool: false } }
        : undefined,
  },

  // Templates of Mistral and Gemma (vllm 6862, opensecret 120, crush 279, llama_index 12554), Bedrock (semantic-kernel 10281)
  {
    lesson: "roles_alternate",
    says: [
      /roles? must alternate/i,
      /must alternate between/i,
      /multiple ["'`]?(?:user|assistant)["'`]? roles in a row/i,
      /unexpected role ["'`]?(user|assistant)["'`]? after role ["'`]?\1/i,
    ],
    what: "lets no role speak twice in a row: such messages become one",
    as500: true,
    change: ({ profile, body }) => {
      const flags: Partial<Profile> = {
        ...(hasRoleTwice(body) && profile.sameRoleTwice ? { sameRoleTwice: false } : {}),
        ...(hasLaterSystem(body) && profile.laterSystem === "keep" ? { laterSystem: "hoist" } : {}),
        ...(hasUserAfterTool(body) && profile.userAfterTool ? { userAfterTool: false } : {}),
      };
      return Object.keys(flags).length > 0 ? { flags } : undefined;
    },
  },

  // Mistral, error 3280, and its templates on vLLM; OpenAI's limit of 40; Anthropic's pattern behind proxies
  {
    lesson: "call_ids",
    says: [
      /tool call ids?\b[^\n]{0,80}(?:0-9|length (?:of )?9|alphanumeric)/i,
      /tool_calls?[[\].\d]*\.id["'`]?: string too long/i,
      /tool_call_id["'`]?: string too long/i,
      /tool_use\.id: string should match pattern/i,
    ],
    what: "takes call ids of nine letters and digits: others are translated",
    as500: true,
    change: ({ profile, body }) =>
      hasCalls(body) && profile.callIds !== "nine-alphanumerics"
        ? { flags: { callIds: "nine-alphanumerics" } }
        : undefined,
  },

  // Kimi (LangBot 1040, gentle-pi 1052)
  {
    lesson: "call_ids",
    says: [/tool_call_id\b[^\n]{0,80}is not found/i],
    what: "finds calls only by ids of its own form, functions.NAME:INDEX: others are translated",
    change: ({ profile, body }) =>
      hasCalls(body) && !hasStrayResult(body) && profile.callIds === "verbatim"
        ? { flags: { callIds: "functions-name-index" } }
        : undefined,
  },

  // DeepSeek V4 (pi 3636, qwen-code 3578), Kimi K2.5 and later (continue 11711, deer-flow 3043)
  {
    lesson: "reasoning_required",
    says: [
      /reasoning_content["'`]?[^\n]{0,80}(?:must be passed back|is missing|is required|must be provided)/i,
      /(?:missing|requires?)[^\n]{0,40}reasoning_content/i,
    ],
    what: "wants its reasoning back with every call: it is sent, and as empty text where it is lost",
    change: ({ profile, body }) => {
      const { reasoningField: field, reasoningRange: range, reasoningRequired } = profile;
      if (!hasRole(body, "assistant")) return undefined;
      if (field === "reasoning_content" && range === "all" && reasoningRequired) return undefined;
      return {
        flags: {
          reasoningField: "reasoning_content",
          reasoningRange: "all",
          reasoningRequired: true,
        },
      };
    },
  },

  // Bedrock (vercel/ai 13505), Moonshot (litellm 42186, AstrBot 7200), Anthropic behind proxies
  {
    lesson: "empty_content",
    says: [
      /content (?:blocks?|field)?[^.\n]{0,30}(?:must|cannot|can't|should|may)(?: not)? be (?:non-?empty|empty|blank)/i,
      /(?:text )?content[^.\n]{0,60} is empty/i,
      /(?:assistant|message)\b[^\n]{0,40}must not be empty/i,
      /\.content["'`]?: string too short/i,
      /non-empty content/i,
      /must have either content or tool_calls/i,
    ],
    what: "refuses an empty text beside calls: nothing is said instead",
    change: ({ body, profile }) => {
      const sent = emptyContentIn(body);
      if (sent === undefined || sent === "omit" || !decides(profile, sent)) return undefined;
      const emptyContent = sent === "empty" ? "null" : "omit";
      return { flags: { emptyContent }, ...onceIf(saysNothingElsewhere(body)) };
    },
  },

  // Ollama Cloud (pi_agent_rust 45), mistral-common 324, llama-cpp-python 1805, servers in Rust and with pydantic
  {
    lesson: "empty_content",
    says: [
      /invalid message content type: <nil>/i,
      /content["'`]?[^.\n]{0,40}(?:cannot be|must not be|received|got|not|is) ["'`]?(?:null|None|NoneType)\b/i,
      /(?:missing field|field required|required property|required field)[^\n]{0,40}["'`.]content\b/i,
      /["'`.]content\b["'`]?[^\n]{0,40}(?:field required|is required|is a required property|is missing)/i,
      /content field is required/i,
      /(?<!(?:user|tool|system)\.)content["'`]?[^\n]{0,60}(?:should|must) be a(?: valid)? string/i,
    ],
    what: "wants a text beside calls, if an empty one",
    as500: true,
    change: ({ body, profile }) => {
      const sent = emptyContentIn(body);
      if (sent === undefined || sent === "empty" || !decides(profile, sent)) return undefined;
      return { flags: { emptyContent: "empty" }, ...onceIf(saysNothingElsewhere(body)) };
    },
  },

  // OpenAI (OpenHands 7700), GLM via Zen (opencode-copilot-chat 233), LM Studio (qwen-code 3616), DeepSeek
  {
    lesson: "tool_result_media",
    says: [
      /only allowed for messages with role ["'`]?user/i,
      /messages\.?\[?\d+\]?\.(?:tool|user)\.content/i,
      /only text tool_result/i,
      /input should be a valid string/i,
      /tool[^.\n]{0,40}content[^.\n]{0,40}must be a string/i,
      /unknown variant ["'`]image_url/i,
      /invalid ["'`]messages["'`] in payload/i,
    ],
    what: "takes no pictures in results: they follow in a message of the user",
    change: ({ profile, body }) =>
      hasPartsInResults(body) &&
      (isAsSent(profile, "toolResultMedia") || profile.toolResultMedia === "parts")
        ? { flags: { toolResultMedia: "user-message" } }
        : undefined,
  },

  // Claude on Bedrock (dify 17545) and behind LiteLLM (litellm 24158)
  {
    lesson: "calls_without_tools",
    about: ["messages", "tools"],
    says: [
      /tool calling without ["'`]?tools=/i,
      /toolConfig field must be defined/i,
      /requests? which include ["'`]?tool_use/i,
      /tools? (?:must|should) be (?:defined|provided|specified)[^.\n]{0,60}tool_(?:use|calls?|results?)/i,
    ],
    what: "takes calls in a history only where tools are offered: without tools they are told in words",
    change: ({ profile, body }) =>
      profile.callsWithoutTools && !offersTools(body) && hasCalls(body)
        ? { flags: { callsWithoutTools: false } }
        : undefined,
  },
];

/** True if the empty content that was sent is the profile's doing, or would be changed by the flag once it is set. */
function decides(profile: Profile, sent: Profile["emptyContent"]): boolean {
  return isAsSent(profile, "emptyContent") || profile.emptyContent === sent;
}
