export { startGateway, type Gateway, type GatewayOptions } from "./gateway.ts";
export type { Config, ServerConfig, UpstreamConfig } from "./config/config.ts";
export { parseConfig } from "./config/parse-config.ts";
