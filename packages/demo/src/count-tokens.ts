import type { ChatMessage, ChatRequest, JsonObject } from "@deltawire/wire";

/** Tokens per image, file or recording of any size. */
const tokensPerAttachment = 256;

/** Estimates one token per four characters. */
export function countTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

/** Estimates the tokens of the messages and tools of a request. */
export function countRequestTokens(request: ChatRequest): number {
  const tools = request.tools?.length ? countTokens(JSON.stringify(request.tools)) : 0;
  return request.messages.reduce((sum, message) => sum + countMessageTokens(message), tools);
}

function countMessageTokens(message: ChatMessage): number {
  const { content } = message;
  let characters = message.role.length;
  let attachments = 0;
  if (typeof content === "string") characters += content.length;
  else
    for (const part of content ?? [])
      if (part.type === "text") characters += part.text.length;
      else attachments += 1;
  if (message.role === "assistant" && message.tool_calls)
    characters += JSON.stringify(message.tool_calls).length;
  if (typeof message["reasoning_content"] === "string")
    characters += message["reasoning_content"].length;
  return Math.ceil(characters / 4) + attachments * tokensPerAttachment;
}

export interface DemoUsage extends JsonObject {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

export function buildUsage(
  promptTokens: number,
  completionTokens: number,
  reasoningTokens: number,
): DemoUsage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}
