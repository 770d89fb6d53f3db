import { expect, test } from "vitest";
import { healthOf, type Health, type UpstreamStatus } from "../../src/upstreams/read-status.ts";

const fresh: UpstreamStatus = {
  name: "up",
  base_url: "http://127.0.0.1:9/v1",
  speaks: "chat",
  profile: "generic",
  has_key: true,
  circuit: "closed",
  paused_models: [],
  failing_models: [],
  listing: { is: "configured" },
  models: [],
};

test.each<[Health, Partial<UpstreamStatus>]>([
  ["unknown", {}],
  ["unknown", { listing: { is: "asking" } }],
  ["well", { listing: { is: "told" } }],
  ["well", { last_good_at: "2026-01-01T00:00:02Z", last_bad_at: "2026-01-01T00:00:01Z" }],
  ["failing", { last_good_at: "2026-01-01T00:00:01Z", last_bad_at: "2026-01-01T00:00:02Z" }],
  ["failing", { listing: { is: "failed", why: "it answered 500" } }],
  // Its other models work.
  [
    "failing",
    {
      paused_models: [{ model: "m", last_problem: "it answered 500" }],
      last_good_at: "2026-01-01T00:00:02Z",
      last_bad_at: "2026-01-01T00:00:01Z",
    },
  ],
  // It answers, though it lists nothing.
  ["well", { listing: { is: "failed", why: "404" }, last_good_at: "2026-01-01T00:00:02Z" }],
  ["left alone", { circuit: "open", last_good_at: "2026-01-01T00:00:01Z" }],
  ["left alone", { circuit: "trying" }],
  ["no key", { has_key: false, key_variable: "UP_KEY", circuit: "open" }],
  // A server of one's own needs none.
  ["unknown", { has_key: false }],
])("an upstream is %s if %o", (health, facts) => {
  expect(healthOf({ ...fresh, ...facts })).toBe(health);
});
