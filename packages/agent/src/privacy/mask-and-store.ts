import type { PlaceholderStore } from "./placeholder-table.ts";
import type { Vault } from "./vault.ts";

/**
 * Calls `mask` and stores the new placeholders. Calls it again if another process has assigned one of them to another value in
 * the meantime.
 */
export async function maskAndStore<Masked>(
  vault: Vault,
  store: PlaceholderStore,
  mask: () => Promise<Masked>,
): Promise<Masked> {
  for (;;) {
    const { generation } = vault;
    const masked = await mask();
    await vault.storeNewPlaceholders(store);
    if (vault.generation === generation) return masked;
  }
}
