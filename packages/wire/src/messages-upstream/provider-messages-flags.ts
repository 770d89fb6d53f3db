import type { MessagesFlags } from "./messages-flags.ts";

/**
 * How the servers of providers differ when they speak Messages, by the name of the profile. The comments name the sources. What
 * is not listed is learned from rejected requests.
 */
const providerMessagesFlags: Readonly<Record<string, MessagesFlags>> = {
  // platform.claude.com "Extended thinking": models from 4.6 on take adaptive thinking, older ones a budget, which is learned.
  anthropic: { thinkingStyle: "adaptive" },

  // api-docs.deepseek.com "Anthropic API": cache_control is ignored, thinking is not signed and required in the history.
  deepseek: { unsignedThinking: true, cacheMarks: false },

  // Z.ai "Claude Code": thinking is on or off, caching is automatic.
  glm: { cacheMarks: false },

  // Kimi "Anthropic API": thinking is not signed; it is required after calls.
  kimi: { unsignedThinking: true, cacheMarks: false },

  // MiniMax "Anthropic API": thinking is signed and must be sent back; cache_control is supported.
  minimax: {},

  // Model Studio "Anthropic API": cache_control is supported for explicit caches.
  qwen: { unsignedThinking: true },

  // vllm entrypoints/anthropic, LM Studio "Anthropic compatibility", Ollama api/anthropic, llama.cpp pull request 17570: the fields
  // are read for the chat template, which signs nothing; cache_control has no effect.
  vllm: { unsignedThinking: true, cacheMarks: false },
  "lm-studio": { unsignedThinking: true, cacheMarks: false },
  ollama: { unsignedThinking: true, cacheMarks: false },
  "llama.cpp": { unsignedThinking: true, cacheMarks: false },
};

/** Returns the flags of a profile for a Messages upstream. */
export function findMessagesFlags(profileName: string): MessagesFlags {
  return Object.hasOwn(providerMessagesFlags, profileName)
    ? (providerMessagesFlags[profileName] ?? {})
    : {};
}
