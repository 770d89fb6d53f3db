import { FieldReport, type FieldOutcome } from "../field-report.ts";
import { nonEmptyString } from "../json.ts";
import { hashReasoningText, type UnsealReasoning } from "../mapping/reasoning.ts";
import { collectCallIds } from "../messages-client/collect-call-ids.ts";
import { applyMessagesFlags, type MessagesFlags } from "../messages-upstream/messages-flags.ts";
import { limitThinkingBudget } from "../messages-upstream/thinking-budget.ts";
import { Repairs } from "../repairs.ts";
import type {
  MessageContentBlock,
  MessageParam,
  MessagesRequest,
} from "../shapes/messages-request.ts";

export interface RepairMessagesRequestOptions extends Pick<
  MessagesFlags,
  "unsignedThinking" | "dropThinking" | "maxTokensLimit" | "droppedParameters" | "extraBody"
> {
  /** The upstream's name for the model. Default: the requested name. */
  upstreamModel?: string;
  /** Whether to request a stream. Default: as the client requested. */
  stream?: boolean;
  /** Recognizes thinking that this package signed, which no provider accepts as its own. */
  unseal?: UnsealReasoning;
}

export interface RepairedMessagesRequest {
  body: MessagesRequest;
  /** For the reply: ids of the calls in the history. */
  usedCallIds: ReadonlySet<string>;
  repairs: Repairs;
  /** What happened to each field of the request. */
  fields: FieldOutcome[];
}

/**
 * Adapts a request from `decodeMessagesRequest` to a Messages upstream. The body is the same object unless an option changes it,
 * or it has thinking that was signed here.
 */
export function repairMessagesRequest(
  request: MessagesRequest,
  options: RepairMessagesRequestOptions = {},
): RepairedMessagesRequest {
  const repairs = new Repairs();
  const report = new FieldReport();
  const { upstreamModel = request.model, stream = request.stream, maxTokensLimit: limit } = options;
  let body = request;
  if (upstreamModel !== request.model) body = { ...body, model: upstreamModel };
  if (stream !== undefined && stream !== request.stream) body = { ...body, stream };
  if (limit !== undefined && (request.max_tokens ?? 0) > limit) {
    repairs.add("parameter_changed", `max_tokens: ${request.max_tokens} -> ${limit}`);
    body = { ...body, max_tokens: limit, ...limitThinking(request.thinking, limit, repairs) };
  }
  const messages = request.messages.map((message) => repairThinking(message, options, repairs));
  if (messages.some((message, index) => message !== request.messages[index]))
    body = { ...body, messages };
  body = applyMessagesFlags(body, options, (name) => {
    repairs.add("parameter_dropped", name);
    report.drop(name, "rejected by the upstream");
  });
  for (const name of Object.keys(request)) if (!report.has(name)) report.preserve(name);
  return {
    body,
    usedCallIds: new Set(collectCallIds(request)),
    repairs,
    fields: report.outcomes,
  };
}

/** Lowers a thinking budget that is not below the lowered `max_tokens`, which the API rejects. */
function limitThinking(
  thinking: MessagesRequest["thinking"],
  maxTokens: number,
  repairs: Repairs,
): Pick<MessagesRequest, "thinking"> {
  const budget = thinking?.budget_tokens ?? 0;
  if (thinking?.type !== "enabled" || budget < maxTokens) return {};
  const limited = limitThinkingBudget(budget, maxTokens);
  repairs.add("parameter_changed", `thinking.budget_tokens: ${budget} -> ${limited ?? "disabled"}`);
  return {
    thinking:
      limited === undefined ? { type: "disabled" } : { ...thinking, budget_tokens: limited },
  };
}

/** Removes thinking that the upstream would reject. The provider's own thinking stays byte for byte. */
function repairThinking(
  message: MessageParam,
  options: RepairMessagesRequestOptions,
  repairs: Repairs,
): MessageParam {
  if (message.role !== "assistant" || typeof message.content === "string") return message;
  const content = message.content.flatMap((block) => repairBlock(block, options));
  const dropped = message.content.length - content.length;
  if (dropped > 0) repairs.add("reasoning_dropped", `${dropped} blocks of thinking`);
  const isUnchanged =
    dropped === 0 && content.every((block, index) => block === message.content[index]);
  if (isUnchanged) return message;
  // A turn must have content.
  if (content.length === 0) content.push({ type: "text", text: "(no text)" });
  return { ...message, content };
}

function repairBlock(
  block: MessageContentBlock,
  { unseal, dropThinking, unsignedThinking }: RepairMessagesRequestOptions,
): MessageContentBlock[] {
  if (block.type !== "thinking" && block.type !== "redacted_thinking") return [block];
  if (dropThinking === true) return [];
  const signature = nonEmptyString(block.signature);
  const opaque = signature === undefined ? undefined : unseal?.(signature);
  if (opaque === undefined) return [block];
  // Signed here, because the upstream signed nothing.
  const isUnchanged = opaque.textHash === hashReasoningText(block.thinking ?? "");
  return unsignedThinking === true && isUnchanged ? [{ ...block, signature: "" }] : [];
}
