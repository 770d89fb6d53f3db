import { genericProfile, profileNamed } from "@deltawire/wire";
import { checkBaseUrl } from "./base-url.ts";
import type { UpstreamConfig } from "./config.ts";
import { variableValue, type Environment } from "./secret.ts";
import { plainUpstream } from "./upstream.ts";

export interface KnownKey {
  readonly variable: string;
  /** Of the upstream. */
  readonly name: string;
  readonly baseUrl: string;
  readonly profile: string;
  readonly speaks: "chat" | "responses";
  /** A variable that sends the key to another server. */
  readonly elsewhere?: string;
}

/** Keys that people have in their environment, and the servers they are for, as each provider documents them. */
export const knownKeys: readonly KnownKey[] = [
  {
    variable: "OPENAI_API_KEY",
    name: "openai",
    baseUrl: "https://api.openai.com/v1",
    profile: "openai",
    speaks: "responses",
    elsewhere: "OPENAI_BASE_URL",
  },
  // The coding plan's endpoint, as other coding tools read this variable; pay-as-you-go has api.z.ai/api/paas/v4.
  chat("ZAI_API_KEY", "zai", "https://api.z.ai/api/coding/paas/v4", "glm"),
  chat("DEEPSEEK_API_KEY", "deepseek", "https://api.deepseek.com", "deepseek"),
  // International accounts; keys of api.moonshot.cn, dashscope.aliyuncs.com and api.minimaxi.com need a file.
  chat("MOONSHOT_API_KEY", "moonshot", "https://api.moonshot.ai/v1", "kimi"),
  chat(
    "DASHSCOPE_API_KEY",
    "dashscope",
    "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    "qwen",
  ),
  chat("MINIMAX_API_KEY", "minimax", "https://api.minimax.io/v1", "minimax"),
  chat("MISTRAL_API_KEY", "mistral", "https://api.mistral.ai/v1", "mistral"),
  chat("GROQ_API_KEY", "groq", "https://api.groq.com/openai/v1", "groq"),
  chat("OPENROUTER_API_KEY", "openrouter", "https://openrouter.ai/api/v1", "openrouter"),
  chat("TOGETHER_API_KEY", "together", "https://api.together.ai/v1", "together"),
  chat("FIREWORKS_API_KEY", "fireworks", "https://api.fireworks.ai/inference/v1", "fireworks"),
  chat("CEREBRAS_API_KEY", "cerebras", "https://api.cerebras.ai/v1", "cerebras"),
  chat("XAI_API_KEY", "xai", "https://api.x.ai/v1", "xai"),
  chat(
    "GEMINI_API_KEY",
    "gemini",
    "https://generativelanguage.googleapis.com/v1beta/openai",
    "gemini",
  ),
  chat("DEEPINFRA_API_KEY", "deepinfra", "https://api.deepinfra.com/v1/openai", "generic"),
  chat("NVIDIA_API_KEY", "nvidia", "https://integrate.api.nvidia.com/v1", "generic"),
];

/** An upstream for every known key that is set. */
export function environmentUpstreams(env: Environment): UpstreamConfig[] {
  return knownKeys.flatMap((known) => {
    const apiKey = variableValue(known.variable, env);
    if (apiKey === undefined || isMeantElsewhere(known, env)) return [];
    const { name, baseUrl, speaks, variable } = known;
    const profile = profileNamed(known.profile) ?? genericProfile;
    return [plainUpstream({ name, baseUrl, speaks, profile, apiKey, apiKeyVariable: variable })];
  });
}

/** The keys that are set and yet not offered, and why. */
export function environmentWarnings(env: Environment): string[] {
  return knownKeys
    .filter((known) => variableValue(known.variable, env) !== undefined)
    .filter((known) => isMeantElsewhere(known, env))
    .map(
      ({ variable, baseUrl, elsewhere }) =>
        `${variable} is not used, for ${elsewhere} says that it is not for ${new URL(baseUrl).host}; to use it, name its server with --upstream URL --api-key-env ${variable}`,
    );
}

function isMeantElsewhere({ baseUrl, elsewhere }: KnownKey, env: Environment): boolean {
  const address = elsewhere === undefined ? undefined : variableValue(elsewhere, env);
  if (address === undefined) return false;
  const checked = checkBaseUrl(address);
  return !("url" in checked) || checked.url !== baseUrl;
}

function chat(variable: string, name: string, baseUrl: string, profile: string): KnownKey {
  return { variable, name, baseUrl, profile, speaks: "chat" };
}
