import { lazy, Suspense, type ComponentProps } from "react";

const SettingsDialog = lazy(async () => ({
  default: (await import("./chat-settings-dialog.tsx")).ChatSettingsDialog,
}));

/** Loads the settings dialog when it is first opened, to keep its validation schemas out of the initial bundle. */
export function LazyChatSettingsDialog(props: ComponentProps<typeof SettingsDialog>) {
  return (
    <Suspense fallback={null}>
      <SettingsDialog {...props} />
    </Suspense>
  );
}
