import { expect, test } from "vitest";
import {
  toUpstreamHealthStatus,
  type UpstreamHealthStatus,
  type UpstreamStatus,
} from "../../src/upstreams/gateway-status.ts";

const fresh: UpstreamStatus = {
  name: "up",
  base_url: "http://127.0.0.1:9/v1",
  speaks: "chat",
  learned_apis: [],
  profile: "generic",
  has_key: true,
  circuit: "closed",
  paused_models: [],
  failing_models: [],
  listing: { status: "configured" },
  models: [],
};

test.each<[UpstreamHealthStatus, Partial<UpstreamStatus>]>([
  ["unknown", {}],
  ["unknown", { listing: { status: "loading" } }],
  ["healthy", { listing: { status: "listed" } }],
  ["healthy", { last_success_at: "2026-01-01T00:00:02Z", last_failure_at: "2026-01-01T00:00:01Z" }],
  ["failing", { last_success_at: "2026-01-01T00:00:01Z", last_failure_at: "2026-01-01T00:00:02Z" }],
  ["failing", { listing: { status: "failed", reason: "it answered 500" } }],
  // Only one model is paused; the others work.
  [
    "failing",
    {
      paused_models: [{ model: "m", last_error: "it answered 500" }],
      last_success_at: "2026-01-01T00:00:02Z",
      last_failure_at: "2026-01-01T00:00:01Z",
    },
  ],
  // It answers requests but cannot list models.
  [
    "healthy",
    { listing: { status: "failed", reason: "404" }, last_success_at: "2026-01-01T00:00:02Z" },
  ],
  ["paused", { circuit: "open", last_success_at: "2026-01-01T00:00:01Z" }],
  ["paused", { circuit: "half_open" }],
  ["no key", { has_key: false, key_variable: "UP_KEY", circuit: "open" }],
  // A local server needs no key.
  ["unknown", { has_key: false }],
])("an upstream is %s if %o", (health, facts) => {
  expect(toUpstreamHealthStatus({ ...fresh, ...facts })).toBe(health);
});
