import { lazy, Suspense, type ComponentProps } from "react";

const Dialog = lazy(async () => ({
  default: (await import("./settings-dialog.tsx")).ChatSettingsDialog,
}));

/** The settings of a chat. Loaded when first opened: the schemas that check them are not part of the first script. */
export function ChatSettingsDialog(props: ComponentProps<typeof Dialog>) {
  return (
    <Suspense fallback={null}>
      <Dialog {...props} />
    </Suspense>
  );
}
