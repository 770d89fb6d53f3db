import { hash } from "node:crypto";
import type { UpstreamConfig } from "../config/config.ts";
import { version } from "../version.ts";

/**
 * Returns a fingerprint of everything that lessons about an upstream depend on: its URL, its API, its profile, and the version
 * of the gateway. It does not reveal secrets in the URL.
 */
export function createUpstreamFingerprint(config: UpstreamConfig): string {
  const { baseUrl, speaks, query, profile, messagesFlags } = config;
  return hash("sha256", JSON.stringify([version, baseUrl, speaks, query, profile, messagesFlags]));
}
