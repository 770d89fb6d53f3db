/** Where Codex sends a request, below the provider's base URL. Both of its clients ask the provider's wire (12.1). */
export function chatPath(wire: string): "chat/completions" | "responses" {
  return wire === "chat" ? "chat/completions" : "responses";
}
