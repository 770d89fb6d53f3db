import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { getClientFolder } from "../../../../test/install-clients.ts";
import type { Agent } from "../agent.ts";
import { wires } from "../wires.ts";

const authTypes = { chat: "openai", responses: "openai-responses", messages: "anthropic" };

const settings = {
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  general: { enableAutoUpdate: false },
};

const losesReasoning = {
  kind: "loses-reasoning",
  reason:
    "qwen-code rewrites its first message when it resumes, and drops sealed reasoning, so that the upstream must not require it",
} as const;

export const qwenCodeAgents: Agent[] = wires.map((wire) => ({
  name: "qwen-code",
  wire,
  set: "qwen-code",
  // On Chat it returns the text of reasoning, but nothing that is sealed; on Responses nothing.
  ...(wire === "messages" ? {} : { limits: { resume: losesReasoning } }),
  async configure({ home }) {
    await mkdir(join(home, ".qwen"));
    await writeFile(join(home, ".qwen", "settings.json"), JSON.stringify(settings));
  },
  buildCommand(prompt, { url, model }, isResumed) {
    const prefix = wire === "messages" ? "ANTHROPIC" : "OPENAI";
    return {
      program: process.execPath,
      commandArguments: [
        join(
          getClientFolder("qwen-code"),
          "node_modules",
          "@qwen-code",
          "qwen-code",
          "cli-entry.js",
        ),
        "--auth-type",
        authTypes[wire],
        "-y",
        ...(isResumed ? ["--continue"] : []),
        prompt,
      ],
      env: {
        [`${prefix}_BASE_URL`]: wire === "messages" ? url : `${url}/v1`,
        [`${prefix}_API_KEY`]: "local",
        [`${prefix}_MODEL`]: model,
        QWEN_CODE_SUPPRESS_YOLO_WARNING: "1",
      },
    };
  },
}));
