import { isSentUnchanged, type UpstreamProfile } from "@deltawire/wire";
import type { LessonRule } from "./lesson.ts";
import { markRequestSpecific } from "./request-specific-errors.ts";
import {
  findEmptyContentForm,
  hasToolCalls,
  hasLateSystemMessage,
  hasToolResultParts,
  hasRole,
  hasConsecutiveRoles,
  hasOrphanToolResult,
  hasUnknownRole,
  hasUserAfterTool,
  hasTools,
  hasOtherEmptyContent,
} from "./inspect-request.ts";

/** Errors of Chat upstreams about the message history. The comments name the servers and issues that the patterns come from. */
export const historyRejections: readonly LessonRule[] = [
  // DeepSeek (pi 1048, 7603), DashScope (pi 5117), Z.ai (PI-Desktop 30), new-api 5330, a chat template (halogen-flash-server 32)
  {
    code: "developer_role",
    patterns: [
      /unknown (?:variant|role):? ["'`]?developer/i,
      /(?:invalid|unsupported|unexpected|unrecognized)[^.\n]{0,20} role[^.\n]{0,20}developer/i,
      /developer["'`]? is not one of/i,
      /does not support ["'`]?developer/i,
      /\brole\b[\s\S]{0,80}(?:input should be|must be one of|expected one of)[^\n]{0,40}system/i,
      /Incorrect role information/i,
      /Unexpected message role/i,
    ],
    description: "does not support the developer role; it is sent as system",
    matchesServerErrors: true,
    createChange: ({ profile, body }) =>
      hasRole(body, "developer") && !hasUnknownRole(body) && profile.developerRole === "developer"
        ? { flags: { developerRole: "system" } }
        : undefined,
  },

  // Qwen on vLLM and llama.cpp (llama.cpp 20733, ollama 18241, litellm 26879), Mistral, MiniMax error 2013 (MiniMax-M2 51)
  {
    code: "system_first",
    patterns: [
      /system (?:message|prompt|role)s?[^.\n]{0,40}must (?:be|come|appear)[^.\n]{0,30}(?:first|beginning|start)/i,
      /(?:only one|a single|multiple|more than one)[^.\n]{0,20} system (?:message|prompt)/i,
      /unexpected role ["'`]?system/i,
      /invalid message role: system/i,
      /invalid chat setting/i,
      /initial optional system message/i,
    ],
    description: "supports only one system message, at the start; later ones are moved there",
    matchesServerErrors: true,
    createChange: ({ profile, body }) =>
      hasLateSystemMessage(body) && profile.lateSystemMessages === "keep"
        ? { flags: { lateSystemMessages: "hoist" } }
        : undefined,
  },

  // Mistral, error 3230 (litellm 17761, mistral-common 169, onyx 6458)
  {
    code: "user_after_tool",
    patterns: [/unexpected role ["'`]?user["'`]? after role ["'`]?tool/i],
    description:
      "rejects a user message directly after a tool result; an assistant message is inserted",
    createChange: ({ profile, body }) =>
      hasUserAfterTool(body) && profile.userAfterTool
        ? { flags: { userAfterTool: false } }
        : undefined,
  },

  // Chat templates of Mistral and Gemma (vllm 6862, opensecret 120, crush 279, llama_index 12554), Bedrock (semantic-kernel 10281)
  {
    code: "roles_alternate",
    patterns: [
      /roles? must alternate/i,
      /must alternate between/i,
      /multiple ["'`]?(?:user|assistant)["'`]? roles in a row/i,
      /unexpected role ["'`]?(user|assistant)["'`]? after role ["'`]?\1/i,
    ],
    description: "rejects consecutive messages of the same role; they are merged",
    matchesServerErrors: true,
    createChange: ({ profile, body }) => {
      const flags: Partial<UpstreamProfile> = {
        ...(hasConsecutiveRoles(body) && profile.consecutiveRoles
          ? { consecutiveRoles: false }
          : {}),
        ...(hasLateSystemMessage(body) && profile.lateSystemMessages === "keep"
          ? { lateSystemMessages: "hoist" }
          : {}),
        ...(hasUserAfterTool(body) && profile.userAfterTool ? { userAfterTool: false } : {}),
      };
      return Object.keys(flags).length > 0 ? { flags } : undefined;
    },
  },

  // Mistral, error 3280, and its chat templates on vLLM; OpenAI's limit of 40; Anthropic's pattern behind proxies
  {
    code: "call_ids",
    patterns: [
      /tool call ids?\b[^\n]{0,80}(?:0-9|length (?:of )?9|alphanumeric)/i,
      /tool_calls?[[\].\d]*\.id["'`]?: string too long/i,
      /tool_call_id["'`]?: string too long/i,
      /tool_use\.id: string should match pattern/i,
    ],
    description:
      "supports only call ids of nine letters and digits; others are converted to this form",
    matchesServerErrors: true,
    createChange: ({ profile, body }) =>
      hasToolCalls(body) && profile.callIds !== "nine-alphanumerics"
        ? { flags: { callIds: "nine-alphanumerics" } }
        : undefined,
  },

  // Kimi (LangBot 1040, gentle-pi 1052)
  {
    code: "call_ids",
    patterns: [/tool_call_id\b[^\n]{0,80}is not found/i],
    description:
      "supports only call ids of the form functions.NAME:INDEX; others are converted to this form",
    createChange: ({ profile, body }) =>
      hasToolCalls(body) && !hasOrphanToolResult(body) && profile.callIds === "verbatim"
        ? { flags: { callIds: "functions-name-index" } }
        : undefined,
  },

  // DeepSeek V4 (pi 3636, qwen-code 3578), Kimi K2.5 and later (continue 11711, deer-flow 3043)
  {
    code: "reasoning_required",
    patterns: [
      /reasoning_content["'`]?[^\n]{0,80}(?:must be passed back|is missing|is required|must be provided)/i,
      /(?:missing|requires?)[^\n]{0,40}reasoning_content/i,
    ],
    description:
      "requires the reasoning of every call; it is sent back, as empty text if it is not available",
    createChange: ({ profile, body }) => {
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
    code: "empty_content",
    patterns: [
      /content (?:blocks?|field)?[^.\n]{0,30}(?:must|cannot|can't|should|may)(?: not)? be (?:non-?empty|empty|blank)/i,
      /(?:text )?content[^.\n]{0,60} is empty/i,
      /(?:assistant|message)\b[^\n]{0,40}must not be empty/i,
      /\.content["'`]?: string too short/i,
      /non-empty content/i,
      /must have either content or tool_calls/i,
    ],
    description: "rejects empty text in messages with tool calls; it is omitted",
    createChange: ({ body, profile }) => {
      const sentForm = findEmptyContentForm(body);
      if (sentForm === undefined || sentForm === "omit" || !isControlledByFlag(profile, sentForm))
        return undefined;
      const emptyContent = sentForm === "empty" ? "null" : "omit";
      return { flags: { emptyContent }, ...markRequestSpecific(hasOtherEmptyContent(body)) };
    },
  },

  // Ollama Cloud (pi_agent_rust 45), mistral-common 324, llama-cpp-python 1805, servers that use Rust or pydantic
  {
    code: "empty_content",
    patterns: [
      /invalid message content type: <nil>/i,
      /content["'`]?[^.\n]{0,40}(?:cannot be|must not be|received|got|not|is) ["'`]?(?:null|None|NoneType)\b/i,
      /(?:missing field|field required|required property|required field)[^\n]{0,40}["'`.]content\b/i,
      /["'`.]content\b["'`]?[^\n]{0,40}(?:field required|is required|is a required property|is missing)/i,
      /content field is required/i,
      /(?<!(?:user|tool|system)\.)content["'`]?[^\n]{0,60}(?:should|must) be a(?: valid)? string/i,
    ],
    description: "requires text in messages with tool calls; empty text is sent",
    matchesServerErrors: true,
    createChange: ({ body, profile }) => {
      const sentForm = findEmptyContentForm(body);
      if (sentForm === undefined || sentForm === "empty" || !isControlledByFlag(profile, sentForm))
        return undefined;
      return {
        flags: { emptyContent: "empty" },
        ...markRequestSpecific(hasOtherEmptyContent(body)),
      };
    },
  },

  // OpenAI (OpenHands 7700), GLM via Zen (opencode-copilot-chat 233), LM Studio (qwen-code 3616), DeepSeek
  {
    code: "tool_result_media",
    patterns: [
      /only allowed for messages with role ["'`]?user/i,
      /messages\.?\[?\d+\]?\.(?:tool|user)\.content/i,
      /only text tool_result/i,
      /input should be a valid string/i,
      /tool[^.\n]{0,40}content[^.\n]{0,40}must be a string/i,
      /unknown variant ["'`]image_url/i,
      /invalid ["'`]messages["'`] in payload/i,
    ],
    description: "rejects images in tool results; they are sent in a user message",
    createChange: ({ profile, body }) =>
      hasToolResultParts(body) &&
      (isSentUnchanged(profile, "toolResultMedia") || profile.toolResultMedia === "parts")
        ? { flags: { toolResultMedia: "user-message" } }
        : undefined,
  },

  // Claude on Bedrock (dify 17545) and behind LiteLLM (litellm 24158)
  {
    code: "calls_without_tools",
    fields: ["messages", "tools"],
    patterns: [
      /tool calling without ["'`]?tools=/i,
      /toolConfig field must be defined/i,
      /requests? which include ["'`]?tool_use/i,
      /tools? (?:must|should) be (?:defined|provided|specified)[^.\n]{0,60}tool_(?:use|calls?|results?)/i,
    ],
    description: "rejects tool calls in requests without tools; the calls are sent as text",
    createChange: ({ profile, body }) =>
      profile.callsWithoutTools && !hasTools(body) && hasToolCalls(body)
        ? { flags: { callsWithoutTools: false } }
        : undefined,
  },
];

/** True if the flag `emptyContent` determines the form of empty content in this request, or would if it were set. */
function isControlledByFlag(
  profile: UpstreamProfile,
  sentForm: UpstreamProfile["emptyContent"],
): boolean {
  return isSentUnchanged(profile, "emptyContent") || profile.emptyContent === sentForm;
}
