import { WireError } from "../error.ts";
import { correctOutcomes, FieldReport, type FieldOutcome } from "../field-report.ts";
import type { JsonObject } from "../json.ts";
import type { UnsealReasoning } from "../mapping/reasoning.ts";
import { collectCallIds } from "../messages-client/collect-call-ids.ts";
import { readMessagesRequest } from "../messages-client/conversation.ts";
import { repairHistory } from "../repair-history.ts";
import { Repairs } from "../repairs.ts";
import { applyResponsesFlags, type ResponsesFlags } from "../responses-upstream/responses-flags.ts";
import type { MessagesRequest } from "../shapes/messages-request.ts";
import type { ResponsesRequest, ResponseTool } from "../shapes/responses-request.ts";
import { toUpstreamToolName } from "../tools/tool-names.ts";
import type { DeclaredTool, ToolTranslation } from "../tools/tool-translation.ts";

export interface TranslateMessagesToResponsesOptions extends ResponsesFlags {
  /** The upstream's name for the model. Default: the requested name. */
  upstreamModel?: string;
  /** Whether to request a stream. Default: as the client requested. */
  stream?: boolean;
  /** Opens the signatures of thinking that `seal` of the reply wrote. Other thinking is dropped. */
  unseal?: UnsealReasoning;
  /** Identifies the client's session, for `prompt_cache_key`. Default: `metadata.user_id`. */
  sessionId?: string;
  /**
   * Returns a value that stands for an account, from which it cannot be found again. Without it neither a user nor a cache key is
   * sent.
   */
  hash?: (text: string) => string;
}

export interface TranslatedMessagesToResponses {
  body: ResponsesRequest;
  /** For the reply: maps each call to the declared tool. */
  tools: ToolTranslation;
  /** For the reply: ids that new calls must not use (decision 20). */
  usedCallIds: ReadonlySet<string>;
  repairs: Repairs;
  /** What happened to each field of the request. */
  fields: FieldOutcome[];
}

/** Translates a request from `decodeMessagesRequest` into a Responses request. Throws `WireError` if that is impossible. */
export function translateMessagesToResponses(
  request: MessagesRequest,
  options: TranslateMessagesToResponsesOptions = {},
): TranslatedMessagesToResponses {
  const {
    rejectsHistory: wasRejected = false,
    dropSealed = false,
    efforts,
    unseal,
    hash,
  } = options;
  const repairs = new Repairs();
  const report = new FieldReport();
  const conversation = readMessagesRequest(request, {
    target: "responses",
    repairs,
    report,
    unseal,
    knowsNoEffort: efforts?.includes("none") === true,
    acceptsBreakpoints: true,
    accepts: (name) => name === "safety_identifier" || name === "prompt_cache_key",
    sessionId: options.sessionId,
    hash,
  });
  const items = Array.isArray(conversation.input) ? conversation.input : [];
  if (items.length === 0)
    throw new WireError("invalid_request", "messages: no message has content", {
      param: "messages",
    });
  const lastItem = items.at(-1);
  if (lastItem?.type === "message" && lastItem.role === "assistant")
    throw new WireError(
      "unsupported",
      "messages: this model cannot continue a message of the assistant; end with a message of the user",
      { param: "messages" },
    );
  const { rename, translation } = renameTools(conversation.tools ?? [], repairs);
  const renamed = items.map((item) =>
    item.type === "function_call" ? { ...item, name: rename(item.name) } : item,
  );
  const input = repairHistory(renamed, { stored: false, wasRejected, dropSealed, repairs });
  const choice = conversation.tool_choice;
  const stream = options.stream ?? conversation.stream ?? false;
  const { stream: _stream, ...rest } = conversation;
  const body: ResponsesRequest = {
    ...rest,
    model: options.upstreamModel ?? request.model,
    input,
    ...(conversation.tools ? { tools: conversation.tools.map(renameTool) } : {}),
    ...(typeof choice === "object" && choice?.name
      ? { tool_choice: { ...choice, name: rename(choice.name) } }
      : {}),
    ...(stream ? { stream } : {}),
  };
  const adapted = applyResponsesFlags(body, options, repairs);
  correctOutcomes(adapted, report, responsesFields);
  return {
    body: adapted,
    tools: translation,
    usedCallIds: new Set([
      ...items.flatMap((item) => (item.type === "function_call" ? [item.call_id] : [])),
      ...collectCallIds(request),
    ]),
    repairs,
    fields: report.outcomes,
  };
}

function renameTool(tool: ResponseTool): ResponseTool {
  return tool.type === "function" ? { ...tool, name: toUpstreamToolName(tool.name) } : tool;
}

/** Shortens the names that OpenAI rejects, and maps them back. */
function renameTools(
  tools: readonly ResponseTool[],
  repairs: Repairs,
): { rename: (name: string) => string; translation: ToolTranslation } {
  const declared = new Map<string, DeclaredTool>();
  const schemas = new Map<string, JsonObject>();
  for (const tool of tools) {
    if (tool.type !== "function") continue;
    const name = toUpstreamToolName(tool.name);
    if (name !== tool.name) repairs.add("tool_renamed", `${tool.name} -> ${name}`);
    declared.set(name, { kind: "function", name: tool.name });
    if (tool.parameters) schemas.set(name, tool.parameters);
  }
  const translation = {
    upstreamNames: new Set(declared.keys()),
    schemas,
    findDeclared: (name: string) => declared.get(name),
  };
  return { rename: (name) => toUpstreamToolName(name), translation };
}

/** The fields of Responses in which those of Messages are sent. */
const responsesFields: Readonly<Record<string, readonly string[]>> = {
  stream: ["stream"],
  system: ["instructions"],
  messages: ["input"],
  tools: ["tools"],
  tool_choice: ["tool_choice", "parallel_tool_calls"],
  max_tokens: ["max_output_tokens"],
  temperature: ["temperature"],
  top_p: ["top_p"],
  thinking: ["reasoning"],
  output_config: ["reasoning.effort", "text.format"],
  "output_config.effort": ["reasoning.effort"],
  "output_config.format": ["text.format"],
  service_tier: ["service_tier"],
  metadata: ["safety_identifier", "prompt_cache_key"],
};
