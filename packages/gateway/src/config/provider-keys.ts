import { genericProfile, findProviderProfile } from "@deltawire/wire";
import { parseBaseUrl } from "./base-url.ts";
import type { ApiName, UpstreamConfig } from "./config.ts";
import { getVariable, type EnvironmentVariables } from "./secret.ts";
import { createUpstreamConfig } from "./upstreams.ts";

export interface ProviderKey {
  readonly variable: string;
  /** The name of the upstream. */
  readonly name: string;
  readonly baseUrl: string;
  readonly profile: string;
  readonly speaks: ApiName;
  /** The environment variable with which other programs override the base URL. */
  readonly baseUrlVariable?: string;
}

/** The environment variables of API keys and the servers that they belong to, as each provider documents them. */
export const providerKeys: readonly ProviderKey[] = [
  {
    variable: "OPENAI_API_KEY",
    name: "openai",
    baseUrl: "https://api.openai.com/v1",
    profile: "openai",
    speaks: "responses",
    baseUrlVariable: "OPENAI_BASE_URL",
  },
  {
    variable: "ANTHROPIC_API_KEY",
    name: "anthropic",
    baseUrl: "https://api.anthropic.com/v1",
    profile: "anthropic",
    speaks: "messages",
    baseUrlVariable: "ANTHROPIC_BASE_URL",
  },
  // Other coding tools use this variable for the coding plan; pay-as-you-go is api.z.ai/api/paas/v4.
  chatProvider("ZAI_API_KEY", "zai", "https://api.z.ai/api/coding/paas/v4", "glm"),
  chatProvider("DEEPSEEK_API_KEY", "deepseek", "https://api.deepseek.com", "deepseek"),
  // International accounts; keys of api.moonshot.cn, dashscope.aliyuncs.com and api.minimaxi.com need a configuration file.
  chatProvider("MOONSHOT_API_KEY", "moonshot", "https://api.moonshot.ai/v1", "kimi"),
  chatProvider(
    "DASHSCOPE_API_KEY",
    "dashscope",
    "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    "qwen",
  ),
  chatProvider("MINIMAX_API_KEY", "minimax", "https://api.minimax.io/v1", "minimax"),
  chatProvider("MISTRAL_API_KEY", "mistral", "https://api.mistral.ai/v1", "mistral"),
  chatProvider("GROQ_API_KEY", "groq", "https://api.groq.com/openai/v1", "groq"),
  chatProvider("OPENROUTER_API_KEY", "openrouter", "https://openrouter.ai/api/v1", "openrouter"),
  chatProvider("TOGETHER_API_KEY", "together", "https://api.together.ai/v1", "together"),
  chatProvider(
    "FIREWORKS_API_KEY",
    "fireworks",
    "https://api.fireworks.ai/inference/v1",
    "fireworks",
  ),
  chatProvider("CEREBRAS_API_KEY", "cerebras", "https://api.cerebras.ai/v1", "cerebras"),
  chatProvider("XAI_API_KEY", "xai", "https://api.x.ai/v1", "xai"),
  chatProvider(
    "GEMINI_API_KEY",
    "gemini",
    "https://generativelanguage.googleapis.com/v1beta/openai",
    "gemini",
  ),
  chatProvider("DEEPINFRA_API_KEY", "deepinfra", "https://api.deepinfra.com/v1/openai", "generic"),
  chatProvider("NVIDIA_API_KEY", "nvidia", "https://integrate.api.nvidia.com/v1", "generic"),
];

/** Creates an upstream for every known key that is set. */
export function createEnvironmentUpstreams(env: EnvironmentVariables): UpstreamConfig[] {
  return providerKeys.flatMap((providerKey) => {
    const apiKey = getVariable(providerKey.variable, env);
    if (apiKey === undefined || hasOtherBaseUrl(providerKey, env)) return [];
    const { name, baseUrl, speaks, variable } = providerKey;
    const profile = findProviderProfile(providerKey.profile) ?? genericProfile;
    return [
      createUpstreamConfig({ name, baseUrl, speaks, profile, apiKey, apiKeyVariable: variable }),
    ];
  });
}

/** Returns a warning for every key that is set but not used. */
export function listEnvironmentWarnings(env: EnvironmentVariables): string[] {
  return providerKeys
    .filter((providerKey) => getVariable(providerKey.variable, env) !== undefined)
    .filter((providerKey) => hasOtherBaseUrl(providerKey, env))
    .map(
      ({ variable, baseUrl, baseUrlVariable }) =>
        `${variable} is not used because ${baseUrlVariable} is not ${baseUrl}; to use it, add --upstream URL --api-key-env ${variable}`,
    );
}

function hasOtherBaseUrl(
  { baseUrl, baseUrlVariable }: ProviderKey,
  env: EnvironmentVariables,
): boolean {
  const address = baseUrlVariable === undefined ? undefined : getVariable(baseUrlVariable, env);
  if (address === undefined) return false;
  const result = parseBaseUrl(address);
  // Anthropic's clients add the version to the path themselves.
  return !("url" in result) || ![result.url, `${result.url}/v1`].includes(baseUrl);
}

function chatProvider(
  variable: string,
  name: string,
  baseUrl: string,
  profile: string,
): ProviderKey {
  return { variable, name, baseUrl, profile, speaks: "chat" };
}
