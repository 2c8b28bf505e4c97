export const shared = { title: 'Small Book', cleanUrls: false, ignoreDeadLinks: true }
