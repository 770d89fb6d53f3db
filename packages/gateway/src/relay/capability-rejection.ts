import type { MessageContentBlock, MessagesRequest } from "@deltawire/wire";
import { GatewayError } from "../gateway-error.ts";

/*
 * Claude Code sends images and PDFs to every model. If a model rejects them, the rest of the session fails too, unless the error
 * has exactly the words of its gateway contract: then it replaces the blocks by text and goes on.
 */

const capabilities = [
  { block: "image", words: "image_block", pattern: /image|vision|multi-?modal/i },
  { block: "document", words: "document_block", pattern: /\b(?:file|document|pdf)s?\b/i },
] as const;

/** What servers say of a kind of content that they do not support: vLLM, SGLang, llama.cpp, DeepSeek, Z.ai, Groq, OpenAI. */
const unsupportedPattern =
  /not support|n't support|unsupported|only supported|not a (?:multimodal|vision)|invalid content type|unknown (?:variant|type|part)|unexpected (?:item|content) type|(?:must be|expected) a (?:valid )?string|no (?:vision|image)/i;

const rejectionStatuses: ReadonlySet<number | undefined> = new Set([400, 404, 415, 422, 500]);

/**
 * Returns the error with the words after which Claude Code omits the blocks that the model does not support. Any other error is
 * returned unchanged. The provider's words are in `cause`.
 */
export function toCapabilityRejection(error: GatewayError, request: MessagesRequest): GatewayError {
  if (!rejectionStatuses.has(error.status) || !unsupportedPattern.test(error.message)) return error;
  const capability = capabilities.find(
    ({ block, pattern }) => pattern.test(error.message) && hasBlock(request, block),
  );
  if (capability === undefined) return error;
  return new GatewayError("invalid_request", `capability_rejected: ${capability.words}`, {
    cause: error,
  });
}

function hasBlock({ messages }: MessagesRequest, type: string): boolean {
  return messages.some(({ content }) => Array.isArray(content) && containsBlock(content, type));
}

function containsBlock(blocks: readonly MessageContentBlock[], type: string): boolean {
  return blocks.some(
    (block) =>
      block.type === type ||
      (block.type === "tool_result" &&
        Array.isArray(block.content) &&
        containsBlock(block.content, type)),
  );
}
