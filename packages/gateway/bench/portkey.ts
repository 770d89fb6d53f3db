import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const version = "1.15.2";
/** With a newer @hono/node-server every stream fails with 500, "TypeError: immutable" (Portkey-AI/gateway#1389). */
const pinned = { hono: "4.9.7", "@hono/node-server": "1.13.5" };

/**
 * Returns the start script of Portkey's gateway, which is installed once into an ignored folder. The pins are also overrides
 * because the gateway would otherwise get its own newer copy.
 */
export function installPortkey(): string {
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
      // Workspace settings of an outer npm do not apply to this folder.
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
