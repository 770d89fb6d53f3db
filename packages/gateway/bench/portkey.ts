import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const version = "1.15.2";
/** With a newer @hono/node-server every stream is answered 500, "TypeError: immutable" (Portkey-AI/gateway#1389). */
const pinned = { hono: "4.9.7", "@hono/node-server": "1.13.5" };

/**
 * The file that starts Portkey's gateway; fetched once, into a folder that git ignores. The pins are overrides because
 * a plain install gives the gateway a newer copy of its own.
 */
export function portkeyServer(): string {
  const folder = fileURLToPath(new URL("../../../.clients/portkey", import.meta.url));
  const server = join(folder, "node_modules/@portkey-ai/gateway/build/start-server.js");
  if (existsSync(server)) return server;
  mkdirSync(folder, { recursive: true });
  const manifest = {
    private: true,
    dependencies: { "@portkey-ai/gateway": version, ...pinned },
    overrides: pinned,
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  console.error("Fetching Portkey's gateway, once, into .clients ...");
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync(
    "npm",
    ["install", "--ignore-scripts", "--no-save", "--no-package-lock", "--prefix", folder, ...quiet],
    {
      cwd: folder,
      // What an outer npm was told about workspaces is not meant for this folder.
      env: {
        ...process.env,
        npm_config_workspace: "",
        npm_config_workspaces: "",
        npm_config_omit: "",
      },
      stdio: ["ignore", "ignore", "pipe"],
      timeout: 120_000,
    },
  );
  return server;
}
