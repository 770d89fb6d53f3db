import {
  parseUpstreamFailure,
  type MessageContentBlock,
  type MessagesRequest,
} from "@deltawire/wire";
import { GatewayError } from "../gateway-error.ts";

/*
 * Claude Code sends images and PDFs to every model. If a model rejects them, the rest of the session fails too, unless the error
 * has exactly the words of its gateway contract: then it replaces the blocks with text and continues.
 */

/** The patterns match words and fields, but not the names of models, such as `gpt-4-vision-preview`. */
const capabilities = [
  {
    block: "image",
    words: "image_block",
    pattern:
      /(?<![\w/-])(?:(?:input_)?images?(?:_\w+)?(?!\w)|(?:vision|multi-?modal)(?![\w/-]|:\w))/i,
  },
  {
    block: "document",
    words: "document_block",
    pattern: /(?<![\w/-])(?:input_)?(?:file|document|pdf)s?(?:_\w+)?(?!\w)/i,
  },
] as const;

/** What servers say of a kind of content that they do not support: vLLM, SGLang, llama.cpp, DeepSeek, Z.ai, Groq, OpenAI. */
const unsupportedPattern =
  /not support|n't support|unsupported|only supported|not a (?:multimodal|vision)|invalid content type|unknown (?:variant|type|part)|unexpected (?:item|content) type|(?:must be|expected) a (?:valid )?string|no (?:vision|image)/i;

/** A 500, which llama.cpp sends, has no status in a GatewayError, only the code `upstream_error`. */
const rejectionStatuses: ReadonlySet<number | undefined> = new Set([400, 404, 415, 422]);

/**
 * Returns the error with the words after which Claude Code omits the blocks that the model does not support. Any other error is
 * returned unchanged. The provider's words are in `cause`.
 */
export function toCapabilityRejection(error: GatewayError, request: MessagesRequest): GatewayError {
  const { code, status, providerError } = error;
  const isRejection = rejectionStatuses.has(status) || code === "upstream_error";
  if (!isRejection || providerError === undefined) return error;
  // Not the message of the gateway, which names the upstream.
  const { message } = parseUpstreamFailure(providerError);
  if (!unsupportedPattern.test(message)) return error;
  const capability = capabilities.find(
    ({ block, pattern }) => pattern.test(message) && hasBlock(request, block),
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
