import type { AgentLaunch } from "./coding-agent.ts";
import { tokenVariable, type GatewayConnection } from "./connection.ts";

/** Returns the environment variables that clients of the OpenAI and Anthropic APIs usually read. */
export function buildGenericLaunch({ url, token, model }: GatewayConnection): AgentLaunch {
  return {
    variables: {
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_BASE: `${url}/v1`,
      OPENAI_API_KEY: token,
      OPENAI_MODEL: model.id,
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: token,
      ANTHROPIC_AUTH_TOKEN: token,
      ANTHROPIC_MODEL: model.id,
      [tokenVariable]: token,
    },
  };
}
