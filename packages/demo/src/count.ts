import type { ChatMessage, ChatRequest, JsonObject } from "@deltawire/wire";

/** What a picture, a file or a recording counts as, whatever its size. */
const tokensOfAttachment = 256;

/** A token is about four characters; nobody is billed by this. */
export function tokensIn(text: string): number {
  return Math.ceil(text.length / 4);
}

/** An estimate of the whole request: its messages and the tools that it offers. */
export function requestTokens(request: ChatRequest): number {
  const tools = request.tools?.length ? tokensIn(JSON.stringify(request.tools)) : 0;
  return request.messages.reduce((sum, message) => sum + messageTokens(message), tools);
}

function messageTokens(message: ChatMessage): number {
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
  return Math.ceil(characters / 4) + attachments * tokensOfAttachment;
}

export interface Usage extends JsonObject {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

export function usageOf(prompt: number, completion: number, reasoning: number): Usage {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}
