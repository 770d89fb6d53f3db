/** Returns the name of the provider profile for a URL (see `findProviderProfile` of @deltawire/wire); undefined if unknown. */
export function detectProfile(address: URL): string | undefined {
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(address.hostname);
  if (isLocal) return profileByLocalPort[address.port];
  const labels = address.hostname.split(".");
  for (let start = 0; start < labels.length - 1; start += 1) {
    const profile = profileByHost[labels.slice(start).join(".")];
    if (profile !== undefined) return profile;
  }
  return undefined;
}

/** Profiles by domain; all subdomains have the same profile. */
export const profileByHost: Readonly<Record<string, string>> = {
  "api.openai.com": "openai",
  "openai.azure.com": "azure",
  "services.ai.azure.com": "azure",
  "cognitiveservices.azure.com": "azure",
  "api.deepseek.com": "deepseek",
  "z.ai": "glm",
  "bigmodel.cn": "glm",
  "dashscope.aliyuncs.com": "qwen",
  "dashscope-intl.aliyuncs.com": "qwen",
  "dashscope-us.aliyuncs.com": "qwen",
  "api.moonshot.ai": "kimi",
  "api.moonshot.cn": "kimi",
  "api.kimi.com": "kimi",
  "api.minimax.io": "minimax",
  "api.minimaxi.com": "minimax",
  "api.minimax.chat": "minimax",
  "api.mistral.ai": "mistral",
  "codestral.mistral.ai": "mistral",
  "api.groq.com": "groq",
  "api.x.ai": "xai",
  "openrouter.ai": "openrouter",
  "api.together.xyz": "together",
  "api.together.ai": "together",
  "api.fireworks.ai": "fireworks",
  "api.cerebras.ai": "cerebras",
  "generativelanguage.googleapis.com": "gemini",
};

/** Profiles by default port, for ports that only one kind of server uses. */
export const profileByLocalPort: Readonly<Record<string, string>> = {
  "11434": "ollama",
  "1234": "lm-studio",
};
