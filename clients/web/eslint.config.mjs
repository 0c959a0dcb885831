import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["build/"] },
  {
    files: ["**/*.ts", "**/*.tsx"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafeCalls: [{ from: "package", name: ["test", "suite"], package: "node:test" }] },
      ],
      // contents of files are hostile: they reach the page as text alone
      "no-restricted-syntax": [
        "error",
        {
          selector: "MemberExpression[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML)$/]",
          message: "text alone",
        },
        { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: "text alone" },
      ],
    },
  },
  { files: ["**/*.mjs"], extends: [tseslint.configs.strict] },
);
